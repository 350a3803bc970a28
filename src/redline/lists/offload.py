"""Large tool results moved to files of a directory: `offload_tool_results`, and `read_offloaded` for the way back."""

import logging
from collections.abc import Sequence
from os import PathLike
from typing import Any

import msgspec

from redline.blobs.result_files import ResultFolder, file_name_in, read_offloaded
from redline.blobs.retrieval import is_recall
from redline.errors import ValidationError
from redline.formats import read_history
from redline.rules.facts import Facts
from redline.values import payloads
from redline.values.messages import Message, Text, ToolCall, ToolResult
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
    if min_chars < 0 or not 0 <= min_ratio <= 1:
        raise ValidationError(
            f"min_chars must not be negative, and min_ratio lies between 0 and 1; got {min_chars} and {min_ratio}"
        )
    check_template(reference, "offload_tool_results", "name")
    if file_name_in(reference.format(name="tool-result-x.md")) is None:
        raise ValidationError(f"The reference {reference!r} must hold {{name}}, or the result could not be found again")
    chosen, history = read_history(messages, format)
    moving = _moving_results(history, min_chars=min_chars, reference=reference, recall_tool=recall_tool)
    freed = sum(len(text) for results in moving for _, text in results)
    if not freed or freed / _count_chars(history) < min_ratio:
        return OffloadResult(list(messages), 0, 0, [])
    folder, after = ResultFolder(output_dir), list[Payload]()
    for message, results in zip(history, moving, strict=True):
        moved = message
        for result, text in results:
            moved = chosen.rewrite(moved, result, reference.format(name=folder.store(result.call_id, text)))
        payload = chosen.write(moved)
        after.append(_copied(payload) if results and isinstance(payload, dict) else payload)
    folder.sync()
    _log.info("offloaded %d tool results, %d characters, to %s", len(folder.files), freed, folder.path)
    return OffloadResult(after, len(folder.files), freed, folder.files)


def _moving_results(
    history: Sequence[Message], *, min_chars: int, reference: str, recall_tool: str
) -> list[list[tuple[ToolResult, str]]]:
    """For each message its results that move, each with the text that is stored."""
    facts, found = Facts(), list[list[tuple[ToolResult, str]]]()
    for index, message in enumerate(history):
        moving = []
        for seen in facts.add(index, message):
            result = seen.result
            if result is None or is_recall(seen.tool, recall_tool):
                continue
            text = _content(message, result)
            if not text or len(text) < min_chars:
                continue
            name = file_name_in(text)
            if name is None or text not in (reference.format(name=name), REFERENCE.format(name=name)):
                moving.append((result, text))
        found.append(moving)
    return found


def _count_chars(history: Sequence[Message]) -> int:
    """The characters of all texts, tool inputs and results."""
    count = 0
    for message in history:
        for part in message.parts:
            match part:
                case Text(text):
                    count += len(text)
                case ToolCall(input=value):
                    count += len(_json(value))
                case ToolResult():
                    count += len(_content(message, part))
    return count


def _content(message: Message, result: ToolResult) -> str:
    """A content that is a string, or the compact JSON of one that is a list; nothing for any other."""
    if not result.parts:
        return ""
    *outer, last = result.parts[0].at
    if isinstance(last, int):
        return _json(payloads.value_at(payloads.decode(message.native), tuple(outer)))
    return result.text


def _json(value: Any) -> str:
    return payloads.encode(value).decode()


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
