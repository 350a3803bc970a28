"""Words or a pattern in all that a session said: the best lines, each with the reference by which `recall` reads around it."""

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

from redline.errors import ValidationError
from redline.providers import FORMATS
from redline.record.blobs.grep import MAX_PLACES, match_places
from redline.record.blobs.retrieval import is_recall, part_text
from redline.values.checks import short_repr
from redline.values.messages import Message, Reasoning, ToolCall, ToolResult, reference_to
from redline.values.pairs import CallFinder

SEARCH_TOOL = "search_record"
"""What the tool is called. Many agents have a tool `search` of their own, and a model must be able to tell the two apart."""
_MOST_CHARS = 16_000_000
"""So much is looked through, the latest: a window of a million tokens is a quarter of it."""
_MOST_WORDS, _MOST_WORDS_CHARS, _MOST_LINES = 20, 500, 100
_HEADING_CHARS, _LEAST_ANSWER_CHARS = 220, 500
_LINE_CHARS, _LEAD_CHARS = 140, 40
"""Of a line, so much is shown, and so much of that is before what was found."""


class _Passage(NamedTuple):
    """A part of the record, line by line."""

    reference: str
    said_by: str
    lines: list[str]


class _FoundLine(NamedTuple):
    passage: _Passage
    number: int
    """Counted from 1."""
    at: int
    """The place of the match in the line."""

    @property
    def line(self) -> str:
        """As it was said."""
        return self.passage.lines[self.number - 1]


def search_record(
    words: str,
    find_message: Callable[[int], Message | None],
    count: int,
    *,
    grep: str | None = None,
    limit: int = 10,
    max_chars: int = 2_000,
) -> str:
    """The best lines of the first `count` messages: those with the most of the words, whatever their case; the latest first.

    With `grep`, only lines in which a regular expression is found. What `recall` and this search gave is not looked through.
    """
    wanted = _checked_words(words, grep)
    _check_size("limit", limit, 1, _MOST_LINES)
    _check_size("max_chars", max_chars, _LEAST_ANSWER_CHARS, None)
    passages, is_whole = _latest_passages(find_message, count, (words, grep))
    lines = _lines_like(grep, passages) if grep else _lines_with(wanted, passages)
    best, most = _best(lines, wanted)
    return _answer(best, "" if most == len(wanted) else f"{most} of the {len(wanted)} words", is_whole, limit, max_chars)


def search_tool(format: str, *, name: str = SEARCH_TOOL) -> dict[str, Any]:
    """The definition of the search tool as a provider takes it among its tools.

    When the model calls it, answer with `Conversation.search(**arguments)`, and with the words of the error if there is one.
    """
    if format not in FORMATS:
        raise ValidationError(f"There is no search tool for a format named {format!r}. Known are: {', '.join(FORMATS)}.")
    properties = {argument: {"type": "string", "description": text} for argument, text in _ARGUMENTS.items()}
    return FORMATS[format].declare_tool(name, _DESCRIPTION, {"type": "object", "properties": properties, "required": ["words"]})


_DESCRIPTION = (
    "Finds lines in all that this session said, called and got back, also where it was left out of what you are sent. "
    "Gives the best lines with their references, which the recall tool takes."
)
_ARGUMENTS = {
    "words": "Words, whatever their case; lines with the most of them come first. May be empty where grep is given.",
    "grep": "A regular expression; only lines in which it is found are shown.",
}


def _checked_words(words: object, grep: object) -> tuple[str, ...]:
    """The words, each once. A model fills them in, so their types are not to be relied upon."""
    if not isinstance(words, str) or len(words) > _MOST_WORDS_CHARS:
        raise ValidationError(f"words must be a text of at most {_MOST_WORDS_CHARS} characters, not {short_repr(words)}")
    if grep is not None and not isinstance(grep, str):
        raise ValidationError(f"grep must be a regular expression, not {short_repr(grep)}")
    wanted = tuple(dict.fromkeys(words.casefold().split()))
    if len(wanted) > _MOST_WORDS:
        raise ValidationError(f"words has {len(wanted)} words; {_MOST_WORDS} is the most. Keep those that are rare.")
    if not wanted and not grep:
        raise ValidationError("There is nothing to look for: give words, or a regular expression as grep.")
    return wanted


def _check_size(what: str, value: object, least: int, most: int | None) -> None:
    is_number = isinstance(value, int) and not isinstance(value, bool)
    if not is_number or value < least or (most is not None and value > most):  # type: ignore[operator]
        wanted = f"from {least} to {most}" if most is not None else f"of {least} or more"
        raise ValidationError(f"{what} must be a number {wanted}, not {short_repr(value)}")


# --- what is looked through


def _latest_passages(
    find_message: Callable[[int], Message | None], count: int, asked: tuple[str, str | None]
) -> tuple[list[_Passage], bool]:
    """The parts with words, the latest first, and whether these are all that there are."""
    found, size = list[_Passage](), 0
    for reference, said_by, text in reversed(list(_said(find_message, count, asked))):
        size += len(text)
        if size > _MOST_CHARS:
            return found, False
        found.append(_Passage(reference, said_by, text.removesuffix("\n").split("\n")))  # numbered as `recall` does
    return found, True


def _said(
    find_message: Callable[[int], Message | None], count: int, asked: tuple[str, str | None]
) -> Iterator[tuple[str, str, str]]:
    """Reference, speaker and words of each part, but of those that ask for earlier parts or repeat them."""
    calls, role = CallFinder[tuple[str, bool]](), ""
    for index in range(count):
        message = find_message(index)
        if message is None:
            continue
        if message.role == "assistant" != role:
            calls.start_turn()
        role = message.role
        for place, part in enumerate(message.parts):
            name, is_own = str(message.role), False
            match part:
                case ToolCall():
                    name, is_own = f"{part.name} input", _asks_for_earlier(part, asked)
                    calls.add(part, (part.name, is_own))
                case ToolResult():
                    name, is_own = calls.find(part, ("", False)) or (part.name or "tool", False)
                case Reasoning():
                    name = "reasoning"
            if not is_own and (text := part_text(part)):
                yield reference_to(index, place), name, text


def _asks_for_earlier(call: ToolCall, asked: tuple[str, str | None]) -> bool:
    """Whether a call recalls, or searches: by the tool's name, or by the very words that are asked for now."""
    name = call.name.removeprefix("redline_")
    given = (call.arguments.get("words", ""), call.arguments.get("grep"))
    return is_recall(name, "recall") or is_recall(name, SEARCH_TOOL) or given in (asked, (asked[0], asked[1] or ""))


# --- what is found


def _lines_with(wanted: Sequence[str], passages: Sequence[_Passage]) -> Iterator[_FoundLine]:
    """Each line that has any of the words."""
    for passage in passages:
        for number, line in enumerate(passage.lines, 1):
            folded = line.casefold()
            if places := [at for word in wanted if (at := folded.find(word)) >= 0]:
                yield _FoundLine(passage, number, min(places))


def _lines_like(pattern: str, passages: Sequence[_Passage]) -> Iterator[_FoundLine]:
    """Each line in which the pattern is found."""
    lines = [line for passage in passages for line in passage.lines]
    places: dict[int, int] = {}
    for number, at in match_places(pattern, lines):
        places.setdefault(number, at)
    ends = list(accumulate(len(passage.lines) for passage in passages))
    for number, at in sorted(places.items()):
        passage = passages[bisect_right(ends, number)]
        yield _FoundLine(passage, number - ends[bisect_right(ends, number)] + len(passage.lines) + 1, at)


def _best(lines: Iterator[_FoundLine], wanted: tuple[str, ...]) -> tuple[list[_FoundLine], int]:
    """The lines with the most of the words, those first that have them side by side; of equal lines the latest."""
    best, most, phrase = dict[str, _FoundLine](), min(len(wanted), 1), " ".join(wanted)
    for found in lines:
        folded = " ".join(found.line.casefold().split())
        level = sum(word in folded for word in wanted)
        if level > most:
            best, most = {}, level
        if level == most:
            best.setdefault(folded, found)
    return [best[folded] for folded in sorted(best, key=lambda folded: phrase not in folded)], most


def _answer(best: Sequence[_FoundLine], lacking: str, is_whole: bool, limit: int, max_chars: int) -> str:
    """The lines with their references, as many as there is room for."""
    end = "" if is_whole else f"\n[Only the latest {_MOST_CHARS:,} characters were looked through.]"
    if not best:
        return f"Nothing was found. Try other words, or fewer.{end}"
    shown, room = list[str](), max_chars - _HEADING_CHARS - len(end)
    for found in best[:limit]:
        said_by = " ".join(found.passage.said_by.split())[:_LEAD_CHARS]
        line = f"{found.passage.reference}:{found.number} {said_by}: {_excerpt(found)}"
        room -= len(line) + 1
        if room < 0 and shown:
            break
        shown.append(line)
    many = "at least " if len(best) >= MAX_PLACES else ""
    having = f" with {lacking}, as none has more" if lacking else ""
    first, number = best[0].passage.reference, best[0].number
    onward = f'Around the first: recall(reference="{first}", lines="{max(number - 5, 1)}-{number + 5}")'
    return "\n".join([f"{len(shown)} of {many}{len(best):,} lines{having}, best first. {onward}", *shown]) + end


def _excerpt(found: _FoundLine) -> str:
    """The words around the place, in one line."""
    line = found.line
    start = max(min(found.at - _LEAD_CHARS, len(line) - _LINE_CHARS), 0)
    end = start + _LINE_CHARS
    return f"{'…' if start else ''}{' '.join(line[start:end].split())}{'…' if end < len(line) else ''}"
