"""The shell commands that only look at files, each with the options under which that stays true."""

import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import pairwise
from typing import NamedTuple

from redline.tools.paths import patch_writes, rebase
from redline.tools.tool import Action, Lines, Lists, Reads, Searches, Writes

Actions = tuple[Action, ...]


class UncertainError(Exception):
    """The command is beyond what can be said for certain."""


def command_actions(words: Sequence[str], base: str | None) -> Actions:
    """What the first command of a pipeline looks at."""
    name, arguments = words[0], words[1:]
    if name in _SOURCES:
        return _SOURCES[name](arguments, base)
    _expect(name in _VIEWERS)
    files, spans = _VIEWERS[name](arguments)
    _expect(bool(files) and "-" not in files and len(files) * len(spans) <= _MOST_RANGES)
    return tuple([Reads(rebase(file, base), span) for file in files for span in spans or (None,)])


def filtered_actions(actions: Actions, words: Sequence[str]) -> Actions:
    """What is left to see after a later command of the pipeline."""
    name, arguments = words[0], words[1:]
    shown = [action for action in actions if isinstance(action, Reads)]
    if name in _VIEWERS:
        files, spans = _VIEWERS[name](arguments)
        _expect(not files)
        if not (shown and spans):
            return tuple(shown) or actions
        _expect(len(shown) == 1)  # ranges of several files run together cannot be told
        return tuple([Reads(shown[0].path, _within(shown[0].lines, span)) for span in spans])
    if name in _SEARCH_OPTIONS:
        pattern, places, _ = _search_arguments(name, arguments)
        _expect(not places)
        return (Searches(pattern, tuple(dict.fromkeys(read.path for read in shown))),) if shown else actions
    _expect(name in _FILTER_OPTIONS and not shown)
    _, operands = _FILTER_OPTIONS[name].parse(arguments)
    _expect(not operands)
    return actions


# --- the options of a command told from its operands, as GNU tools do it, without a look at the environment


class Options:
    """A command's options, as for `getopt`, which asks the environment: letters with `:` before a value, words with `=`."""

    def __init__(self, letters: str, words: str = "") -> None:
        self._letters = {letter: letters[at : at + 1] == ":" for at, letter in enumerate(letters, 1) if letter != ":"}
        self._words = {word.removesuffix("="): word.endswith("=") for word in words.split()}

    def parse(self, arguments: Sequence[str]) -> tuple[list[tuple[str, str]], list[str]]:
        """Options, each with its value or an empty string, and operands, in any order. An unknown option could do anything."""
        options: list[tuple[str, str]] = []
        operands: list[str] = []
        rest = iter(arguments)
        for word in rest:
            if word[:1] != "-" or word == "-":
                operands.append(word)
            elif word == "--":
                operands += rest
            else:
                options += (self._take_word if word[1] == "-" else self._take_letters)(word, rest)
        return options, operands

    def _take_letters(self, cluster: str, rest: Iterator[str]) -> Iterator[tuple[str, str]]:
        """`-rn`, `-n5` or `-n 5`."""
        for end, letter in enumerate(cluster[1:], 2):
            takes_value = self._letters.get(letter)
            value = cluster[end:] or next(rest, None) if takes_value else ""
            if takes_value is None or value is None:
                raise UncertainError
            yield f"-{letter}", value
            if takes_value:
                return

    def _take_word(self, word: str, rest: Iterator[str]) -> Iterator[tuple[str, str]]:
        """`--lines 5` or `--lines=5`, also shortened while it stays clear which is meant."""
        start, equals, given = word[2:].partition("=")
        known = [start] if start in self._words else [name for name in self._words if name.startswith(start)]
        _expect(len(known) == 1)
        takes_value = self._words[known[0]]
        value = next(rest, None) if takes_value and not equals else given
        if value is None or (equals and not takes_value):
            raise UncertainError
        yield f"--{known[0]}", value


def _expect(is_certain: bool) -> None:
    if not is_certain:
        raise UncertainError


# --- showing files


_MOST_RANGES = 1000
"""A command that shows more of them is a program."""
_NUMBER = re.compile(r"[0-9]{1,12}")
_SED_PRINT = re.compile(r"\s*(\d+)(?:\s*,\s*(\d+|\$))?\s*p\s*")
_BAT_RANGE = re.compile(r"(\d*):(\d*)")
_COUNT_OPTIONS = Options("n:qv", "lines= quiet silent verbose")
_SED_OPTIONS = Options("nErse:", "quiet silent expression=")
_BAT_OPTIONS = Options("pnPr:l:", "plain number line-range= paging= color= style= language= decorations= wrap=")


class _ShownFiles(NamedTuple):
    files: tuple[str, ...]
    spans: tuple[Lines, ...] = ()
    """The ranges shown; none if everything is."""


def _within(outer: Lines | None, inner: Lines) -> Lines:
    """A range of a range; the end of a range that itself may be cut short by the end of the file cannot be told."""
    if outer is None:
        return inner
    _expect(inner[0] > 0)
    first, last = outer
    has_open_end = first > 0 and last == -1
    start = first + inner[0] - 1
    end = last if inner[1] == -1 else first + inner[1] - 1
    end = end if has_open_end else min(end, last)
    _expect(has_open_end or start <= end)
    return start, end


def _show_all(known: Options, arguments: Sequence[str]) -> _ShownFiles:
    return _ShownFiles(tuple(known.parse(arguments)[1]))


def _show_some(is_end: bool, arguments: Sequence[str]) -> _ShownFiles:
    """`head` or `tail`. The count is ten unless told, and may be written `-20`."""
    modern = [f"-n{word[1:]}" if word[:1] == "-" and word[1:].isdecimal() else word for word in arguments]
    options, files = _COUNT_OPTIONS.parse(modern)
    count = next((value for name, value in reversed(options) if name in ("-n", "--lines")), "10")
    if not is_end:
        span = (1, _positive(count))
    elif count.startswith("+"):
        span = (_positive(count[1:]), -1)
    else:
        span = (-_positive(count.removeprefix("-")), -1)
    return _ShownFiles(tuple(files), (span,))


def _positive(text: str) -> int:
    """A line number; a longer one than any file has is no number."""
    _expect(_NUMBER.fullmatch(text) is not None and int(text) > 0)
    return int(text)


def _show_ranges(arguments: Sequence[str]) -> _ShownFiles:
    """`sed -n`, with nothing but ranges to print."""
    options, operands = _SED_OPTIONS.parse(arguments)
    names = {name for name, _ in options}
    scripts = [value for name, value in options if name in ("-e", "--expression")] or [operands.pop(0) if operands else ""]
    spans: list[Lines] = []
    for part in (part for script in scripts for part in script.rstrip("; ").split(";")):
        match = _SED_PRINT.fullmatch(part)
        if match is None:
            raise UncertainError
        first = _positive(match[1])
        # a last line before the first one prints the first
        spans.append((first, -1 if match[2] == "$" else max(first, _positive(match[2] or match[1]))))
    # of several files sed counts the lines as if they were one
    _expect(bool(names & {"-n", "--quiet", "--silent"}) and len(operands) <= 1 and len(spans) <= _MOST_RANGES)
    return _ShownFiles(tuple(operands), tuple(spans))


def _show_with_bat(arguments: Sequence[str]) -> _ShownFiles:
    options, files = _BAT_OPTIONS.parse(arguments)
    spans: list[Lines] = []
    for value in (value for name, value in options if name in ("-r", "--line-range")):
        match = _BAT_RANGE.fullmatch(value)
        if match is None:
            raise UncertainError
        spans.append((_positive(match[1] or "1"), _positive(match[2]) if match[2] else -1))
    return _ShownFiles(tuple(files), tuple(spans))


_VIEWERS: dict[str, Callable[[Sequence[str]], _ShownFiles]] = {
    "cat": partial(_show_all, Options("AbeEnstTuv", "number number-nonblank show-all show-ends show-tabs")),
    "nl": partial(_show_all, Options("b:d:f:h:i:l:n:ps:v:w:", "body-numbering= number-width= number-separator=")),
    "less": partial(_show_all, Options("eEFNRSX")),
    "more": partial(_show_all, Options("")),
    "bat": _show_with_bat,
    "batcat": _show_with_bat,
    "head": partial(_show_some, False),
    "tail": partial(_show_some, True),
    "sed": _show_ranges,
}

# --- naming and searching files

_FILTER_OPTIONS = {
    "sort": Options("bdfghMnrRuVk:t:"),
    "uniq": Options("cdiu"),
    "wc": Options("clmw"),
    "cut": Options("c:d:f:s"),
}
_GREP_WORDS = (
    "include= exclude= exclude-dir= line-number recursive ignore-case extended-regexp fixed-strings files-with-matches"
    " count only-matching word-regexp invert-match max-count= context= after-context= before-context= no-filename"
    " with-filename no-messages regexp="
)
_RG_WORDS = (
    "files hidden no-ignore glob= iglob= type= type-not= line-number no-line-number no-heading heading ignore-case"
    " smart-case case-sensitive fixed-strings files-with-matches files-without-match count count-matches json trim"
    " only-matching word-regexp multiline pcre2 follow max-count= max-depth= max-columns= context= after-context="
    " before-context= sort= regexp= invert-match with-filename no-filename no-messages column stats"
)
_SEARCH_OPTIONS = {
    "grep": Options("rRnilLHhEFPGovwcsaxIqA:B:C:m:e:", _GREP_WORDS),
    "rg": Options("nNilLHIcosSuUvwxFPqA:B:C:m:e:g:t:T:j:", _RG_WORDS),
}
_LIST_OPTIONS = {
    "ls": Options("1aAbBcCdfFgGhHiklLmnNopqQrRsStuUvxXZ", "all almost-all recursive human-readable full-time"),
    "tree": Options("adfhisDCL:I:P:", "noreport dirsfirst gitignore prune"),
}
# through these `find` runs, deletes and writes
_FIND_EFFECTS = re.compile(r"-(?:exec|execdir|ok|okdir|delete|fls|fprint.*)")


def _search(name: str, arguments: Sequence[str], base: str | None) -> Actions:
    pattern, places, is_listing = _search_arguments(name, arguments)
    found = tuple(rebase(place, base) for place in places or (".",))
    return tuple(Lists(place) for place in found) if is_listing else (Searches(pattern, found),)


def _search_arguments(name: str, arguments: Sequence[str]) -> tuple[str, tuple[str, ...], bool]:
    """The pattern, the places, and whether only names are asked for (`rg --files`)."""
    options, operands = _SEARCH_OPTIONS[name].parse(_without_color(arguments))
    patterns = [value for option, value in options if option in ("-e", "--regexp")]
    if ("--files", "") in options:
        return "", tuple(operands), True
    if not patterns:
        _expect(bool(operands))
        patterns.append(operands.pop(0))
    return "|".join(patterns), tuple(operands), False


def _list(name: str, arguments: Sequence[str], base: str | None) -> Actions:
    _, places = _LIST_OPTIONS[name].parse(_without_color(arguments))
    return tuple(Lists(rebase(place, base)) for place in places or (".",))


def _without_color(arguments: Sequence[str]) -> list[str]:
    """`--color` comes with a value or without one, which `Options` cannot say."""
    return [word for word in arguments if not word.startswith("--color")]


def _find(arguments: Sequence[str], base: str | None) -> Actions:
    _expect(not any(_FIND_EFFECTS.fullmatch(word) for word in arguments))
    tests = next((at for at, word in enumerate(arguments) if word.startswith(("-", "(", "!"))), len(arguments))
    names = [after for word, after in pairwise(arguments) if word in ("-name", "-iname", "-path")]
    pattern = names[0] if len(names) == 1 else None
    return tuple(Lists(rebase(place, base), pattern) for place in arguments[:tests] or (".",))


def _patch(arguments: Sequence[str], base: str | None) -> Actions:
    _expect(len(arguments) == 1)
    return tuple(Writes(rebase(write.path, base), write.is_edit) for write in patch_writes(arguments[0]))


_SOURCES: dict[str, Callable[[Sequence[str], str | None], Actions]] = {
    "grep": partial(_search, "grep"),
    "rg": partial(_search, "rg"),
    "ls": partial(_list, "ls"),
    "tree": partial(_list, "tree"),
    "find": _find,
    "apply_patch": _patch,
    "applypatch": _patch,
    # these print words between two files, as in `cat a; echo ---; cat b`
    **dict.fromkeys(("echo", "printf", "pwd", "true"), lambda _arguments, _base: ()),
}

READ_ONLY_COMMANDS = frozenset({*_VIEWERS, *_SOURCES, *_FILTER_OPTIONS, *_SEARCH_OPTIONS})
"""The names of all commands that may only look."""
