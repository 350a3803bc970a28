"""Large tool results moved to files of a directory: `offload_tool_results`, and `read_offloaded` for the way back."""

import logging
from collections.abc import Iterator, Sequence
from os import PathLike
from typing import Any

import msgspec

from redline.blobs.result_files import ResultFolder, file_name_in, read_offloaded
from redline.blobs.retrieval import is_recall
from redline.errors import ValidationError
from redline.formats import Format, read_history
from redline.values import payloads
from redline.values.messages import Message, Part, Text, ToolCall, ToolResult
from redline.values.payloads import Payload
from redline.values.words import REFERENCE, check_template

__all__ = ["OffloadResult", "offload_tool_results", "read_offloaded"]

_log = logging.getLogger("redline.offload")


class OffloadResult(msgspec.Struct, frozen=True):
    """What `offload_tool_results` did."""

    messages: list[Any]
    """The messages to send; one that did not change is the very same object."""
    offloaded_count: int
    freed_chars: int
    """The characters of the results that moved, as they were."""
    files: list[str]
    """The absolute paths of the files, in the order of the results."""


def offload_tool_results(
    messages: Sequence[Payload],
    output_dir: str | PathLike[str],
    *,
    min_chars: int = 100,
    min_ratio: float = 0.0,
    reference: str = REFERENCE,
    recall_tool: str = "recall",
    format: str = "auto",
) -> OffloadResult:
    """Move results of at least `min_chars` characters to files, and leave references, in messages of any of the formats.

    Nothing moves unless what can move is `min_ratio` of all characters (texts, tool inputs, results). `reference` is
    the template of what is left; `{name}` is the file's name. What the tool named `recall_tool` read back stays, or the
    model would never get to see it. A message that changes shares nothing with the one that was given.
    """
    _check(min_chars, min_ratio, reference)
    chosen, read = read_history(messages, format)
    candidates = _with_text(read, recall_tool)
    movable = [[one for one in results if _is_movable(one[1], min_chars, reference)] for results in candidates]
    freed = sum(len(text) for results in movable for _, text in results)
    if not freed or freed / _all_chars(read) < min_ratio:
        return OffloadResult(list(messages), 0, 0, [])
    folder = ResultFolder(output_dir)
    after = [_moved(chosen, *pair, folder=folder, reference=reference) for pair in zip(read, movable, strict=True)]
    folder.sync()
    _log.info("offloaded %d tool results, %d characters, to %s", len(folder.files), freed, folder.path)
    return OffloadResult(after, len(folder.files), freed, folder.files)


def _check(min_chars: int, min_ratio: float, reference: str) -> None:
    if min_chars < 0 or not 0 <= min_ratio <= 1:
        raise ValidationError(
            f"min_chars must not be negative, and min_ratio lies between 0 and 1; got {min_chars} and {min_ratio}"
        )
    check_template(reference, "offload_tool_results", "name")
    if file_name_in(reference.format(name="tool-result-x.md")) is None:
        raise ValidationError(f"The reference {reference!r} must hold {{name}}, or the result could not be found again")


# --- what moves


def _with_text(messages: Sequence[Message], recall_tool: str) -> Iterator[list[tuple[ToolResult, str]]]:
    """For each message its results, those of the recall tool aside, with the text that would be stored."""
    tool_of: dict[str | None, str] = {}
    for message in messages:
        tool_of.update((call.id, call.name) for call in message.calls)
        moving = (part for part in message.results if not is_recall(part.name or tool_of.get(part.call_id), recall_tool))
        yield [(part, _content(message, part)) for part in moving]


def _is_movable(text: str, min_chars: int, reference: str) -> bool:
    return text != "" and len(text) >= min_chars and not _is_reference(text, reference)


def _content(message: Message, result: ToolResult) -> str:
    """A content that is a string, or the compact JSON of one that is a list; nothing for any other."""
    if not result.parts:
        return ""
    *outer, last = result.parts[0].at
    if isinstance(last, int):
        return _json(payloads.value_at(payloads.decode(message.native), tuple(outer)))
    return result.text


def _is_reference(text: str, template: str) -> bool:
    """Whether a text is what the template makes of some file's name, or what the documents' template makes of it."""
    name = file_name_in(text)
    return name is not None and text in (template.format(name=name), REFERENCE.format(name=name))


def _all_chars(messages: Sequence[Message]) -> int:
    return sum(_chars(message, part) for message in messages for part in message.parts)


def _chars(message: Message, part: Part) -> int:
    match part:
        case Text(text):
            return len(text)
        case ToolCall(input=value):
            return len(_json(value))
        case ToolResult():
            return len(_content(message, part))
        case _:
            return 0


def _json(value: Any) -> str:
    return payloads.encode(value).decode()


# --- where it goes


def _moved(
    format: Format, message: Message, results: Sequence[tuple[ToolResult, str]], *, folder: ResultFolder, reference: str
) -> Payload:
    for result, text in results:
        message = format.rewrite(message, result, reference.format(name=folder.store(result.call_id, text)))
    payload = format.write(message)
    return _copied(payload) if results and isinstance(payload, dict) else payload


def _copied(payload: dict[str, Any]) -> dict[str, Any]:
    """Its objects and lists anew, as deep as they go: no recursion, which ends before JSON does."""
    whole = dict(payload)
    open_values: list[Any] = [whole]
    while open_values:
        value = open_values.pop()
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            if isinstance(inner, dict | list):
                value[key] = inner.copy()
                open_values.append(value[key])
    return whole
