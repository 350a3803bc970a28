"""The way back for offloaded results: the text of a reference, all or some lines of it, and the tool for it."""

import re
from collections.abc import Callable, Sequence
from os import PathLike
from typing import Any

from redline.errors import ExecutionError, ValidationError
from redline.providers import FORMATS
from redline.record.blobs.blobs import Blobs
from redline.record.blobs.directory import file_name_in, read_offloaded
from redline.record.blobs.grep import grep_lines
from redline.record.blobs.opening import open_blobs
from redline.values import payloads
from redline.values.messages import Media, Message, Part, Reasoning, Text, ToolCall, ToolResult, find_reference, reference_to

_REFERENCE = re.compile(r"(?<![\w-])[0-9a-f]{64}(?![\w-])")
_RANGE = re.compile(r"\s*(?P<first>\d{1,9})?\s*(?P<dash>-)?\s*(?P<last>\d{1,9})?\s*")
_MAX_RANGE_CHARS = 100
_NOTICE_CHARS = 160
"""Room for the line that says where the text was cut."""


def recall(
    reference: str,
    blobs: Blobs | str | PathLike[str],
    *,
    lines: str | Sequence[int] | None = None,
    grep: str | None = None,
    max_chars: int | None = 30_000,
) -> str:
    """What an offload stub refers to, from the blobs or the directory that it was moved to.

    `reference` may be the stub itself, or the line of it that holds the reference. `lines` is a pair of line numbers counted
    from 1, or as a model writes it: `10-40`, `10-`, `-20` for the last 20. `grep` keeps the lines in which a regular expression
    is found, with their numbers. More than `max_chars` is cut, and the last line says how to go on; None never cuts.
    """
    # A model fills these in, so their types are not to be relied upon.
    if not isinstance(reference, str):
        raise ValidationError(f"reference must be a text, copied from the stub, not {_shown(reference)}")
    return excerpt_of(_stored(reference, blobs), lines=lines, grep=grep, max_chars=max_chars)


def excerpt_of(
    content: str, *, lines: str | Sequence[int] | None = None, grep: str | None = None, max_chars: int | None = 30_000
) -> str:
    """A text, or some lines of it, as `recall` gives it."""
    if grep is not None and not isinstance(grep, str):
        raise ValidationError(f"grep must be a regular expression, not {_shown(grep)}")
    if max_chars is not None and (not isinstance(max_chars, int) or max_chars <= _NOTICE_CHARS):
        raise ValidationError(f"max_chars must be a number above {_NOTICE_CHARS}, or None, not {_shown(max_chars)}")
    if not lines and not grep:
        return _cut(content, 1, max_chars)
    all_lines = content.removesuffix("\n").split("\n")
    first, last = _range(lines, len(all_lines))
    chosen = all_lines[first - 1 : last]
    if not chosen:
        raise ValidationError(f"There are no lines {first} to {last}: the text has {len(all_lines)} lines, counted from 1.")
    if not grep:
        return _cut("\n".join(chosen), first, max_chars)
    found = [f"{first + number}: {shown}" for number, shown in grep_lines(grep, chosen)]
    return _cut("\n".join(found) or f"No line matches {_shown(grep)}.", None, max_chars)


def recall_from(
    reference: str,
    find_message: Callable[[int], Message | None],
    blobs: Blobs | None,
    *,
    lines: str | Sequence[int] | None = None,
    grep: str | None = None,
    max_chars: int | None = 30_000,
) -> str:
    """What a stub refers to: a part of the record, in a message found by its index, or a result among the blobs."""
    # the stub of an offloaded result shows lines of it, which may hold anything
    place = find_reference(reference) if isinstance(reference, str) and not _REFERENCE.search(reference) else None
    if place is not None:
        message, at = find_message(place[0]), place[1]
        text = part_text(message.parts[at]) if message is not None and at < len(message.parts) else None
        if not text and message is not None and at < len(message.parts) and (shown := _media_words(message.parts[at])):
            text = shown
        if text is None:
            raise ValidationError(f"There is nothing to read at {reference_to(*place)}. Copy the reference from the stub.")
        return excerpt_of(text, lines=lines, grep=grep, max_chars=max_chars)
    if blobs is None:
        raise ExecutionError(
            f"{_shown(reference)} names no part of the record, such as #12.0, and there are no blobs to look in: pass blobs=…"
        )
    return recall(reference, blobs, lines=lines, grep=grep, max_chars=max_chars)


def part_text(part: Part) -> str | None:
    """What a part says: words, or the input of a call; None for pictures and the like."""
    match part:
        case Text(text) | Reasoning(text):
            return text
        case ToolResult():
            return part.text
        case ToolCall():
            return payloads.encode(part.arguments).decode("utf-8", "replace")
    return None


def _media_words(part: Part) -> str:
    """What a picture or a document in the record is, for whoever can only read; empty for other parts."""
    media = [one for one in (part.parts if isinstance(part, ToolResult) else (part,)) if isinstance(one, Media)]
    told = ", ".join(f"{one.media_type} of {len(one.source):,} characters" for one in media)
    return told and f"[{told}: kept in the record. It cannot be shown as text; `redline show` names the session's messages.]"


def recall_tool(format: str, *, name: str = "recall") -> dict[str, Any]:
    """The definition of the recall tool as a provider takes it among its tools.

    When the model calls it, answer with `recall(**arguments, blobs=…)`, and with the words of the error if there is one.
    """
    if format not in FORMATS:
        raise ValidationError(f"There is no recall tool for a format named {format!r}. Known are: {', '.join(FORMATS)}.")
    properties = {argument: {"type": "string", "description": text} for argument, text in _ARGUMENTS.items()}
    schema = {"type": "object", "properties": properties, "required": ["reference"]}
    return FORMATS[format].declare_tool(name, _DESCRIPTION, schema)


def is_recall(tool: str | None, name: str) -> bool:
    """Whether a tool is the recall tool of this name, also by way of a server: `mcp__redline__recall`."""
    return tool is not None and tool.rpartition("__")[2] == name


_DESCRIPTION = (
    "Reads back a tool result that was left out or stored elsewhere. The stub in its place names the reference. "
    "Ask for some lines or for a pattern rather than for all of it."
)
_ARGUMENTS = {
    "reference": "The reference, exactly as the stub gives it.",
    "lines": "Which lines, counted from 1: 10-40, 10- or -20 for the last twenty.",
    "grep": "A regular expression; only lines in which it is found are shown.",
}


# --- what was stored


def _stored(reference: str, blobs: Blobs | str | PathLike[str]) -> str:
    """The text. In a stub the last reference counts, because what comes before it is the tool's own output."""
    found = _REFERENCE.findall(reference)
    if isinstance(blobs, str | PathLike):
        if not found and file_name_in(reference):
            return read_offloaded(reference, blobs)
        blobs = open_blobs(blobs)
    content = blobs.get(found[-1] if found else reference)
    try:
        return content.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return content.decode("utf-8", "replace")


# --- what of it is shown


def _range(lines: object, count: int) -> tuple[int, int]:
    """The first and the last line that are meant; some of them may not be there."""
    match lines:
        case None | "":
            return 1, count
        case [int(first), int(last)]:
            return max(min(first, count + 1), 1), max(min(last, count), 0)
    written = _RANGE.fullmatch(lines) if isinstance(lines, str) and len(lines) <= _MAX_RANGE_CHARS else None
    match written and written.group("first", "dash", "last"):
        case None, _, str(length):
            return max(count - int(length) + 1, 1), count
        case str(start), None, _:
            return max(int(start), 1), max(int(start), 1)
        case str(start), _, end:
            return max(int(start), 1), int(end) if end else count
    raise ValidationError(f"lines is {_shown(lines)}; write 10-40, 10- or -20 for the last twenty.")


def _cut(text: str, first: int | None, max_chars: int | None) -> str:
    """The text with its last lines left out if it is too long; `first` is the number of its first line, if it has one."""
    if max_chars is None or len(text) <= max_chars:
        return text
    shown = text[: max_chars - _NOTICE_CHARS]
    shown = shown[: shown.rfind("\n") + 1] or shown
    kept = shown.removesuffix("\n")
    left = f"{len(text) - len(kept):,} of {len(text):,} characters are not shown"
    if first is None:
        return f"{kept}\n[{left}. Use a narrower grep, or lines.]"
    # A line that was cut itself is asked for again: only grep leads to what comes further on in it.
    onward = first + shown.count("\n")
    return f'{kept}\n[{left}. Go on with lines="{onward}-", or use grep.]'


def _shown(value: object) -> str:
    """What was given, in short; some numbers are so long that Python does not write them at all."""
    try:
        return repr(value)[:80]
    except (ValueError, RecursionError):
        return type(value).__name__
