"""opencode session exports, mended: a part that holds an open call becomes a failure or goes, or its message goes."""

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, NamedTuple, cast

from redline.mending.list_edits import ListEdits
from redline.mending.mender import Mended
from redline.mending.origins import Origins
from redline.mending.window import Window
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

    def mend(self, source: Source, conversation: RecordedConversation, strategy: Strategy) -> Mended:
        """The messages with only the parts changed that must."""
        records = list(dict.fromkeys(entry.positions[0] for entry in conversation.entries))
        edits = ListEdits(source, records)
        window = Window(conversation, strategy)
        if not window.is_legal:
            place_of = {position: place for place, position in enumerate(records)}
            for outcome in _outcomes(window):
                _mend(source, window, outcome, edits, place_of[window.positions[outcome.number][0]])
        return Mended(edits, window.repaired)


class _Outcome(NamedTuple):
    """What becomes of a stored message, in which the model speaks and the tools answer."""

    number: int
    """Of what the model said, in the window."""
    said: Message | None
    results: Sequence[ToolResult]
    """Those that are new or changed."""


def _outcomes(window: Window) -> Iterator[_Outcome]:
    speaking = [number for number, at in enumerate(window.positions) if number == 0 or at != window.positions[number - 1]]
    said: dict[int, Message] = {}
    results: dict[int, list[ToolResult]] = {number: [] for number in speaking}
    latest = 0
    for item, _ in window.steps:
        if item.source in results:
            latest = item.source
            said[latest] = item.message
        elif not window.is_unchanged(item):  # results stand in the record of the message before them
            results[latest] += item.message.results
    for number in speaking:
        yield _Outcome(number, said.get(number), results[number])


def _mend(source: Source, window: Window, outcome: _Outcome, edits: ListEdits, place: int) -> None:
    (position,) = window.positions[outcome.number]
    if outcome.said is None:
        edits.remove(position, window.fix("remove", outcome.number, position, place=place))
        return
    before = window.messages[outcome.number]
    if outcome.said is not before or outcome.results:
        record = _rewritten(source.read(position), before, outcome.said, outcome.results)
        edits.replace(position, record, window.fix("change", outcome.number, position, place=place))


# --- one record


def _rewritten(record: bytes, before: Message, after: Message, results: Sequence[ToolResult]) -> bytes:
    stored = payloads.decode(record)
    numbers = _numbers_of_parts(stored["parts"], _pieces(before))
    origins: Origins[int] = Origins()
    for number, piece in zip(numbers, _pieces(before), strict=True):
        origins.note(piece, number)
    kept = {origins.find(piece): piece for piece in _pieces(after)}
    payload: Payload = record
    for number, part in enumerate(stored["parts"]):
        if number in kept and fields_in(part).get("type") == "tool":
            payload = _with_answer(payload, number, kept[number]["toolCallId"], results)
    return cast("bytes", payloads.remove(payload, [("parts", number) for number in numbers if number not in kept]))


def _pieces(message: Message) -> list[Any]:
    content: list[Any] = payloads.decode(message.native)["content"]
    return content


def _numbers_of_parts(parts: list[Any], pieces: list[Any]) -> list[int]:
    """For each thing that is sent, the number of the part it stands in; some parts are not sent."""
    numbered = iter(enumerate(parts))
    return [next(number for number, part in numbered if _says(part, piece)) for piece in pieces]


def _says(part: Any, piece: dict[str, Any]) -> bool:
    """Whether a stored part is what became this piece of a message."""
    if not isinstance(part, dict):
        return False
    match piece.get("type"):
        case "tool-call":
            return part.get("type") == "tool"
        case "text" | "reasoning" as kind:
            return part.get("type") == kind and text_in(part.get("text")) == piece["text"] and not part.get("ignored")
        case "file":
            return part.get("type") == "file" and (part.get("url"), part.get("mime")) == (piece["data"], piece["mediaType"])
        case _:
            return part == piece


def _with_answer(payload: Payload, number: int, call_id: str | None, results: Sequence[ToolResult]) -> Payload:
    """The record with a call under its present id, and failed if it was open."""
    stored = payloads.decode(payload)
    part = stored["parts"][number]
    if part.get("callID") != call_id:
        payload = payloads.replace(payload, ("parts", number, "callID"), call_id)
    state = fields_in(part.get("state"))
    if text_in(state.get("status")) in _ANSWERED:
        return payload
    # None of its own where two calls share an id, and the result of the other was taken for its own.
    words = next((result.text for result in results if result.call_id == call_id), INTERRUPTED)
    return payloads.replace(payload, ("parts", number, "state"), _failed(state, words, fields_in(stored.get("info"))))


def _failed(state: dict[str, Any], words: str, info: dict[str, Any]) -> dict[str, Any]:
    """The state of a call that failed. No clock is asked: it ended when it began."""
    began = fields_in(state.get("time")).get("start") or fields_in(info.get("time")).get("created") or 0
    carried = {"input": {}} | {key: state[key] for key in ("input", "metadata") if key in state}
    return {"status": "error", **carried, "error": words, "time": {"start": began, "end": began}}
