"""opencode session exports, mended: a part that holds an open call becomes a failure or goes, or its message goes."""

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, cast

from redline.mending.edits import ListEdits
from redline.mending.mender import MendedConversation
from redline.mending.repaired_window import BlockOrigins, RepairedWindow
from redline.repair import INTERRUPTED, Strategy
from redline.transcripts import Reader, RecordedConversation
from redline.transcripts.opencode import OpenCode
from redline.transcripts.shapes import fields_in, text_in
from redline.transcripts.source import Source
from redline.values import payloads
from redline.values.messages import Message, ToolResult
from redline.values.payloads import Payload

__all__ = ["OpenCodeMender"]

_ANSWERED = frozenset({"completed", "error"})


class OpenCodeMender:
    """Mends what `opencode export` writes, for `opencode import`."""

    formats: ClassVar[tuple[str, ...]] = ("opencode",)
    name: ClassVar[str] = "opencode"
    reader: ClassVar[Reader] = OpenCode()

    def mend(self, source: Source, conversation: RecordedConversation, strategy: Strategy) -> MendedConversation:
        """The messages with only the parts changed that must."""
        records = list(dict.fromkeys(entry.positions[0] for entry in conversation.entries))
        place_of = {position: place for place, position in enumerate(records)}
        edits = ListEdits(source, records)
        window = RepairedWindow(conversation, strategy)
        for number, after, results in _records_after(window) if not window.is_legal else ():
            (position,), before = window.positions[number], window.messages[number]
            if after is None:
                edits.remove(position, window.fix("remove", number, position, place=place_of[position]))
            elif after is not before or results:
                record = _rewritten(source.read(position), before, after, results)
                edits.replace(position, record, window.fix("change", number, position, place=place_of[position]))
        return MendedConversation(edits, window.result)


def _records_after(window: RepairedWindow) -> Iterator[tuple[int, Message | None, list[ToolResult]]]:
    """Of each record: the number of what the model says in it, what it says after the repair, and new or changed results."""
    speaking = [number for number, at in enumerate(window.positions) if number == 0 or at != window.positions[number - 1]]
    said: dict[int, Message] = {}
    results: dict[int, list[ToolResult]] = {number: [] for number in speaking}
    latest = 0
    for one in window.repaired:
        if one.source in results:
            latest = one.source
            said[latest] = one.message
        elif not one.is_unchanged:  # results are in the record of the message before them
            results[latest] += one.message.results
    for number in speaking:
        yield number, said.get(number), results[number]


def _rewritten(record: bytes, before: Message, after: Message, results: Sequence[ToolResult]) -> bytes:
    """The record with only the parts of what is said after the repair, and its open calls failed."""
    parts = payloads.decode(record)["parts"]
    numbered = iter(enumerate(parts))
    numbers: list[int] = []
    origins: BlockOrigins[int] = BlockOrigins()
    for block in _blocks(before):  # in the order of the parts, of which some are not sent
        number = next(number for number, part in numbered if _became(part, block))
        numbers.append(number)
        origins.add(block, number)
    kept = {origins.find(block): block for block in _blocks(after)}
    payload: Payload = record
    for number, part in enumerate(parts):
        if number in kept and fields_in(part).get("type") == "tool":
            payload = _with_answer(payload, number, kept[number]["toolCallId"], results)
    return cast("bytes", payloads.remove(payload, [("parts", number) for number in numbers if number not in kept]))


def _blocks(message: Message) -> list[Any]:
    content: list[Any] = payloads.decode(message.native)["content"]
    return content


def _became(part: Any, block: dict[str, Any]) -> bool:
    """Whether a stored part is what became this block of a message."""
    if not isinstance(part, dict):
        return False
    match block.get("type"):
        case "tool-call":
            return part.get("type") == "tool"
        case "text" | "reasoning" as kind:
            return part.get("type") == kind and text_in(part.get("text")) == block["text"] and not part.get("ignored")
        case "file":
            return part.get("type") == "file" and (part.get("url"), part.get("mime")) == (block["data"], block["mediaType"])
        case _:
            return part == block


def _with_answer(payload: Payload, number: int, call_id: str | None, results: Sequence[ToolResult]) -> Payload:
    """The record with a call under its present id, and failed if it was open."""
    stored = payloads.decode(payload)
    part = stored["parts"][number]
    if part.get("callID") != call_id:
        payload = payloads.replace(payload, ("parts", number, "callID"), call_id)
    state = fields_in(part.get("state"))
    if text_in(state.get("status")) in _ANSWERED:
        return payload
    # Two calls may share an id, and the result of the other was taken for this one's: then there is none for it.
    words = next((result.text for result in results if result.call_id == call_id), INTERRUPTED)
    # No clock is asked: the call ended when it began.
    info = fields_in(stored.get("info"))
    time = fields_in(state.get("time")).get("start") or fields_in(info.get("time")).get("created") or 0
    kept = {"input": {}} | {key: state[key] for key in ("input", "metadata") if key in state}
    failed = {"status": "error", **kept, "error": words, "time": {"start": time, "end": time}}
    return payloads.replace(payload, ("parts", number, "state"), failed)
