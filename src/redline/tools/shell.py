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

from redline.tools.paths import patch_writes, rebase
from redline.tools.shell_commands import READ_ONLY_COMMANDS, Actions, UncertainError, command_actions, filtered_actions
from redline.tools.tool import Action, Writes

_SHELLS = frozenset({"bash", "sh", "zsh", "dash", "ash", "ksh"})
_FIRST_WORDS = READ_ONLY_COMMANDS | {"cd"}
_PLAIN_START = re.compile(r"[\w./-]+(?=\s)")
_SCRIPT_FLAGS = frozenset({"-c", "-lc", "-cl", "-ic", "-lic"})


def shell_actions(command: str, base: str | None = None) -> Actions | None:
    """What a command looks at or patches, starting in the base folder; None where it may do anything else."""
    start = _PLAIN_START.match(command)
    if start is not None and start[0] not in _FIRST_WORDS:
        return None  # most commands, and this is quickly seen
    return _remembered(command, base) if len(command) <= _LONGEST_KEPT else _read_command(command, base)


def command_text(arguments: Sequence[str]) -> str:
    """A command given as a list: the script of `bash -lc SCRIPT`, else the words quoted as a shell needs them."""
    if len(arguments) == 3 and posixpath.basename(arguments[0]) in _SHELLS and arguments[1] in _SCRIPT_FLAGS:
        return arguments[2]
    return shlex.join(arguments)


_BETWEEN_COMMANDS = re.compile(r"[|;&\n]+")
_PASSING_ON = frozenset({"cat", "head", "sort", "tail", "tee", "uniq"})


def last_program(command: str) -> str:
    """The last program of a command, with its arguments: what a pipeline prints, but for filters that only pass lines on."""
    pieces = (piece.strip() for piece in reversed(_BETWEEN_COMMANDS.split(command[-_LONGEST_KEPT:])))
    programs = (piece for piece in pieces if piece and not piece[0].isdigit() and piece.partition(" ")[0] not in _PASSING_ON)
    return next(programs, "")


def _read_command(command: str, base: str | None) -> Actions | None:
    if "patch" in command and (heredoc := _HEREDOC_PATCH.fullmatch(command)):
        folder = rebase(_unquoted(heredoc["folder"]), base) if heredoc["folder"] else base
        return tuple(Writes(rebase(write.path, folder), write.is_edit) for write in patch_writes(heredoc["patch"]))
    try:
        found: list[Action] = []
        for pipeline, operator in _pipelines(command):
            first = pipeline[0]
            if first[0] == "cd":
                # what follows must depend on it (`&&`), or it might have failed unnoticed
                if len(pipeline) > 1 or len(first) != 2 or first[1].startswith("-") or operator != "&&":
                    raise UncertainError
                base = rebase(first[1], base)
                continue
            actions = command_actions(first, base)
            for words in pipeline[1:]:
                actions = filtered_actions(actions, words)
            found += actions
        return tuple(found)
    except UncertainError:
        return None


_LONGEST_KEPT = 1000
"""Longer commands are programs, and are not kept in memory."""
_remembered = lru_cache(maxsize=8192)(_read_command)
"""An agent shows the same history again for every request."""


# --- a command as pipelines of words


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


def _pipelines(command: str) -> Iterator[tuple[list[list[str]], str]]:
    """The pipelines, as the words of each of their commands, and the operator after each."""
    pipeline: list[list[str]] = []
    words: list[str] = []
    for token in islice(_TOKEN.finditer(command), _MOST_TOKENS):
        kind = token.lastgroup or ""
        if kind == "anything_else":
            break
        if kind == "word":
            words.append(_unquoted(token["word"]))
            if len(words) == 1 and words[0] not in _FIRST_WORDS:
                raise UncertainError  # before the rest is looked at, which may be long
        elif kind in ("operator", "end"):
            pipeline += [words] if words else []
            words = []
            if pipeline and token["operator"] != "|":
                yield pipeline, token["operator"] or "\n"
                pipeline = []
        if kind == "end":
            return
    raise UncertainError


def _unquoted(token: str) -> str:
    """The word that a token spells. In single quotes nothing is escaped, in double ones quote and backslash, else anything."""
    quote = token[0]
    if "'" not in token and '"' not in token and "\\" not in token:
        return token
    if quote in "'\"" and token.find(quote, 1) == len(token) - 1 and (quote == "'" or "\\" not in token):
        return token[1:-1]
    pieces: list[str] = []
    for match in _PIECE.finditer(token):
        single, double, escaped, plain = match.groups("")  # all but one are empty
        pieces.append(single or _ESCAPED_IN_QUOTES.sub(r"\1", double) or escaped or plain)
    return "".join(pieces)


_PIECE = re.compile(r"""'([^']*+)'|"((?:[^"\\]++|\\.)*+)"|\\(.)|([^'"\\]++)""", re.DOTALL)
_ESCAPED_IN_QUOTES = re.compile(r"""\\(["\\])""")


# --- a patch handed to `apply_patch` in the command itself

_HEREDOC_PATCH = re.compile(
    rf"\s*(?:cd\s+(?P<folder>{_WORD})\s*&&\s*)?apply_?patch\s*<<-?\s*(?P<quote>['\"]?)(?P<end>\w+)(?P=quote)[ \t]*\n"
    r"(?P<patch>.*)\n(?P=end)\s*",
    re.DOTALL,
)
