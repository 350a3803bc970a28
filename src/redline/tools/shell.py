"""Shell commands that only look: which files they show, name or search, said only where that is certain.

A command is certain if it is a list (`&&`, `;`, new lines) of commands and pipelines that do nothing but show files
(`cat`, `sed -n 10,20p`, `head`, `nl` …), name them (`ls`, `find`) or search them (`grep`, `rg`). Variables, globs,
substitutions, redirections, loops, and every command or option that is not known, make it uncertain.
"""

import posixpath
import re
import shlex
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import islice

from redline.tools.actions import Action, Writes
from redline.tools.lookers import LOOKERS, Actions, UncertainError, filtered, source
from redline.tools.patches import patch_writes
from redline.tools.paths import rebase

__all__ = ["command_text", "look"]

_SHELLS = frozenset({"bash", "sh", "zsh", "dash", "ash", "ksh"})
_FIRST_WORDS = LOOKERS | {"cd"}
_PLAIN_START = re.compile(r"[\w./-]+(?=\s)")
_SCRIPT_FLAGS = frozenset({"-c", "-lc", "-cl", "-ic", "-lic"})


def look(command: str, base: str | None = None) -> Actions | None:
    """What a command looks at, starting in the base folder; None where it may do anything else."""
    start = _PLAIN_START.match(command)
    if start is not None and start[0] not in _FIRST_WORDS:
        return None  # most commands, and this is quickly seen
    return _remembered(command, base) if len(command) <= _LONGEST_KEPT else _looked(command, base)


def command_text(arguments: Sequence[str]) -> str:
    """A command given as a list: the script of `bash -lc SCRIPT`, else the words quoted as a shell needs them."""
    if len(arguments) == 3 and posixpath.basename(arguments[0]) in _SHELLS and arguments[1] in _SCRIPT_FLAGS:
        return arguments[2]
    return shlex.join(arguments)


def _looked(command: str, base: str | None) -> Actions | None:
    if "patch" in command and (heredoc := _HEREDOC_PATCH.fullmatch(command)):
        return tuple(_patched(heredoc, base))
    try:
        return _look(command, base)
    except UncertainError:
        return None


_LONGEST_KEPT = 1000
"""Longer commands are programs, and are not kept in memory."""
_remembered = lru_cache(maxsize=8192)(_looked)
"""An agent shows the same history again for every request."""


def _look(command: str, base: str | None) -> Actions:
    looked: list[Action] = []
    for stages, operator in _steps(command):
        if stages[0][0] == "cd":
            base = _folder(stages, operator, base)
            continue
        actions = source(stages[0], base)
        for stage in stages[1:]:
            actions = filtered(actions, stage)
        looked += actions
    return tuple(looked)


def _folder(stages: "_Stages", operator: str, base: str | None) -> str:
    """Where `cd` goes. What follows must depend on it (`&&`), or it might have failed unnoticed."""
    words = stages[0]
    if len(stages) > 1 or len(words) != 2 or words[1].startswith("-") or operator != "&&":
        raise UncertainError
    return rebase(words[1], base)


# --- a command as pipelines of words


_Stages = list[list[str]]
"""A pipeline: the words of each command."""

_MOST_TOKENS = 4000
"""A longer command is a program."""
_WORD = r"""(?:[^\s'"\\$`*?\[\]{}()<>|&;]++|'[^']*+'|"(?:[^"\\$`]++|\\[^$`\n])*+"|\\[^\n])++"""
_TOKEN = re.compile(
    rf"""(?: [ \t]+ | \\\n | \#[^\n]* )*  # blanks and comments
       (?: (?P<unseen_errors>2>&1|2>[ ]?/dev/null)(?=[\s|&;]|$)
         | (?P<operator>&&|;|\n|\|(?![|&]))
         | (?P<word>(?!~){_WORD})
         | (?P<end>\Z)
         | (?P<anything_else>.) )""",
    re.VERBOSE | re.DOTALL,
)


def _steps(command: str) -> Iterator[tuple[_Stages, str]]:
    """The pipelines, each with the operator after it."""
    stages: _Stages = []
    words: list[str] = []
    for kind, text in _tokens(command):
        if kind == "word":
            words.append(_unquoted(text))
            if len(words) == 1 and words[0] not in _FIRST_WORDS:
                raise UncertainError  # before the rest is looked at, which may be long
        elif kind == "operator":
            stages += [words] if words else []
            words = []
            if text != "|" and stages:
                yield stages, text
                stages = []


def _unquoted(token: str) -> str:
    """The word that a token spells. Most have no quotes, or one pair around them."""
    quote = token[0]
    if "'" not in token and '"' not in token and "\\" not in token:
        return token
    if quote in "'\"" and token.find(quote, 1) == len(token) - 1 and (quote == "'" or "\\" not in token):
        return token[1:-1]
    return "".join([_piece(match) for match in _PIECE.finditer(token)])


_PIECE = re.compile(r"""'([^']*+)'|"((?:[^"\\]++|\\.)*+)"|\\(.)|([^'"\\]++)""", re.DOTALL)
_ESCAPED_IN_QUOTES = re.compile(r"""\\(["\\])""")


def _piece(match: re.Match[str]) -> str:
    """In single quotes nothing is escaped, in double quotes the quote and the backslash, elsewhere anything."""
    single, double, escaped, plain = match.groups()
    if double is not None:
        return _ESCAPED_IN_QUOTES.sub(r"\1", double)
    return next(text for text in (single, escaped, plain) if text is not None)


def _tokens(command: str) -> Iterator[tuple[str, str]]:
    """Words and operators in order; the end is an operator like a new line."""
    for match in islice(_TOKEN.finditer(command), _MOST_TOKENS):
        kind = match.lastgroup or ""
        if kind == "end":
            yield "operator", "\n"
            return
        if kind == "anything_else":
            break
        yield kind, match[kind]
    raise UncertainError


# --- a patch handed to `apply_patch` in the command itself

_HEREDOC_PATCH = re.compile(
    rf"\s*(?:cd\s+(?P<folder>{_WORD})\s*&&\s*)?apply_?patch\s*<<-?\s*(?P<quote>['\"]?)(?P<end>\w+)(?P=quote)[ \t]*\n"
    r"(?P<patch>.*)\n(?P=end)\s*",
    re.DOTALL,
)


def _patched(heredoc: re.Match[str], base: str | None) -> Iterator[Writes]:
    folder = rebase(_unquoted(heredoc["folder"]), base) if heredoc["folder"] else base
    for write in patch_writes(heredoc["patch"]):
        yield Writes(rebase(write.path, folder), write.is_edit)
