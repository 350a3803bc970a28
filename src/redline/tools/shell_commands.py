"""The shell commands that only look at files, each with the options under which that stays true."""

import re
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import NamedTuple

from redline.tools.actions import Action, Lines, Lists, Reads, Searches, Writes
from redline.tools.options import Options, Parsed
from redline.tools.patches import patch_writes
from redline.tools.paths import rebase

__all__ = ["READ_ONLY_COMMANDS", "Actions", "UncertainError", "command_actions", "filtered_actions"]

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
    _, operands = _parse(arguments, _FILTER_OPTIONS[name])
    _expect(not operands)
    return actions


def _expect(is_certain: bool) -> None:
    if not is_certain:
        raise UncertainError


def _parse(arguments: Sequence[str], known: Options) -> Parsed:
    """Options and operands. An option that is not known could do anything."""
    parsed = known.parse(arguments)
    if parsed is None:
        raise UncertainError
    return parsed


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


def _show_all(letters: str, words: str = "") -> Callable[[Sequence[str]], _ShownFiles]:
    known = Options(letters, words)

    def show(arguments: Sequence[str]) -> _ShownFiles:
        _, files = _parse(arguments, known)
        return _ShownFiles(tuple(files))

    return show


def _show_start(arguments: Sequence[str]) -> _ShownFiles:
    count, files = _line_count(arguments)
    return _ShownFiles(files, ((1, _positive(count)),))


def _show_end(arguments: Sequence[str]) -> _ShownFiles:
    count, files = _line_count(arguments)
    first = _positive(count[1:]) if count.startswith("+") else -_positive(count.removeprefix("-"))
    return _ShownFiles(files, ((first, -1),))


def _line_count(arguments: Sequence[str]) -> tuple[str, tuple[str, ...]]:
    """The count of `head` and `tail`, which is ten unless told, and may be written `-20`."""
    modern = [f"-n{word[1:]}" if word[:1] == "-" and word[1:].isdecimal() else word for word in arguments]
    options, files = _parse(modern, _COUNT_OPTIONS)
    counts = [value for name, value in options if name in ("-n", "--lines")]
    return counts[-1] if counts else "10", tuple(files)


def _positive(text: str) -> int:
    """A line number; a longer one than any file has is no number."""
    _expect(_NUMBER.fullmatch(text) is not None and int(text) > 0)
    return int(text)


def _show_ranges(arguments: Sequence[str]) -> _ShownFiles:
    """`sed -n`, with nothing but ranges to print."""
    options, operands = _parse(arguments, _SED_OPTIONS)
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
    options, files = _parse(arguments, _BAT_OPTIONS)
    spans: list[Lines] = []
    for value in (value for name, value in options if name in ("-r", "--line-range")):
        match = _BAT_RANGE.fullmatch(value)
        if match is None:
            raise UncertainError
        spans.append((_positive(match[1] or "1"), _positive(match[2]) if match[2] else -1))
    return _ShownFiles(tuple(files), tuple(spans))


_VIEWERS: dict[str, Callable[[Sequence[str]], _ShownFiles]] = {
    "cat": _show_all("AbeEnstTuv", "number number-nonblank show-all show-ends show-tabs"),
    "nl": _show_all("b:d:f:h:i:l:n:ps:v:w:", "body-numbering= number-width= number-separator="),
    "less": _show_all("eEFNRSX"),
    "more": _show_all(""),
    "bat": _show_with_bat,
    "batcat": _show_with_bat,
    "head": _show_start,
    "tail": _show_end,
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


def _search(name: str) -> Callable[[Sequence[str], str | None], Actions]:
    def search(arguments: Sequence[str], base: str | None) -> Actions:
        pattern, places, is_listing = _search_arguments(name, arguments)
        found = tuple(rebase(place, base) for place in places or (".",))
        return tuple(Lists(place) for place in found) if is_listing else (Searches(pattern, found),)

    return search


def _search_arguments(name: str, arguments: Sequence[str]) -> tuple[str, tuple[str, ...], bool]:
    """The pattern, the places, and whether only names are asked for (`rg --files`)."""
    options, operands = _parse(_without_color(arguments), _SEARCH_OPTIONS[name])
    patterns = [value for option, value in options if option in ("-e", "--regexp")]
    if ("--files", "") in options:
        return "", tuple(operands), True
    if not patterns:
        _expect(bool(operands))
        patterns.append(operands.pop(0))
    return "|".join(patterns), tuple(operands), False


def _list(name: str) -> Callable[[Sequence[str], str | None], Actions]:
    def listed(arguments: Sequence[str], base: str | None) -> Actions:
        _, places = _parse(_without_color(arguments), _LIST_OPTIONS[name])
        return tuple(Lists(rebase(place, base)) for place in places or (".",))

    return listed


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
    "grep": _search("grep"),
    "rg": _search("rg"),
    "ls": _list("ls"),
    "tree": _list("tree"),
    "find": _find,
    "apply_patch": _patch,
    "applypatch": _patch,
    # these print words between two files, as in `cat a; echo ---; cat b`
    **dict.fromkeys(("echo", "printf", "pwd", "true"), lambda _arguments, _base: ()),
}

READ_ONLY_COMMANDS = frozenset({*_VIEWERS, *_SOURCES, *_FILTER_OPTIONS, *_SEARCH_OPTIONS})
"""The names of all commands that may only look."""
