"""Neovate session files, mended: message lines go, change or are added, and name the nearest parent that is left."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, cast

from redline.formats.ai_sdk import AiSdk
from redline.mending.chain import Chain
from redline.mending.family import Family
from redline.mending.leaf import keep_last, placeholder, why_placeholder, would_be_replaced
from redline.mending.line_edits import LineEdits
from redline.mending.links import Links
from redline.mending.mender import Mended
from redline.mending.rows import write_rows
from redline.mending.window import Window
from redline.repair import Item, Strategy
from redline.transcripts import Reader, RecordedConversation
from redline.transcripts.base import Position
from redline.transcripts.neovate import Neovate
from redline.transcripts.shapes import fields_in, objects_in
from redline.transcripts.source import Source
from redline.values import payloads
from redline.values.messages import Message
from redline.values.payloads import Payload

__all__ = ["NeovateMender"]

_FORMAT = AiSdk()
_COPIED = ("sessionId", "cwd", "timestamp")
"""What a new line takes from the one beside it; no clock is asked."""


@dataclass(frozen=True)
class NeovateMender:
    """Mends Neovate's session files."""

    is_chained: bool = False
    """Whether every line of the path is made to name the one before it: for files whose ids are missing or not unique."""

    formats: ClassVar[tuple[str, ...]] = ("neovate",)
    name: ClassVar[str] = "Neovate"
    reader: ClassVar[Reader] = Neovate()

    def mend(self, source: Source, conversation: RecordedConversation, strategy: Strategy) -> Mended:
        """The lines of the active path, with only the bytes changed that must."""
        edits = LineEdits(source)
        written = [_FORMAT.read(source.read(entry.positions[0])) for entry in conversation.entries]
        window = Window(conversation, strategy, written)
        if window.is_legal:
            return Mended(edits, window.messages)
        lines = _Lines(source, conversation, window, is_chained=self.is_chained)
        write_rows(window, window.steps, edits, lines)
        lines.links.write(edits)
        if lines.chain:
            lines.chain.write(edits)
        if lines.left:
            keep_last(conversation, lines.left[-1], edits)
        elif would_be_replaced(conversation):
            return Mended(edits, [lines.add_stub(edits)])
        return Mended(edits, window.repaired)


class _Lines:
    """A record is the message with its place in the tree beside it."""

    in_list = False

    def __init__(self, source: Source, conversation: RecordedConversation, window: Window, *, is_chained: bool) -> None:
        self._source, self._conversation, self._window = source, conversation, window
        self.chain: Chain | None = Chain() if is_chained else None
        self._family = Family(source)
        self._lines = [position for (position,) in window.positions]
        self.left = [self._lines[step.item.source] for step in window.steps if step.stays and step.item.source is not None]
        """The lines that stay where they are."""
        self.links = Links(self._family, self._lines[-1])
        for line in {*self._lines}.difference(self.left):
            self.links.drop(line)
        self._moved: set[Position] = set()
        self._births = dict(self._born())
        self._style = _style_of(window.messages)

    def rewritten(self, position: Position, message: Message) -> bytes:  # noqa: ARG002 - the message holds all of it
        return cast("bytes", self._in_style(message.native))

    def added(self, item: Item, beside: Position) -> bytes:
        uuid, parent = self._births[id(item)]
        native = self._in_style(item.message.native)
        if isinstance(native, dict):
            return self._new_line(native, uuid, parent, beside)
        return cast("bytes", payloads.replace(payloads.replace(native, ("uuid",), uuid), ("parentUuid",), parent))

    def add_stub(self, edits: LineEdits) -> Message:
        """Nothing is left, and a branch would be taken for the conversation: a line holds its place."""
        message = placeholder(_FORMAT)
        first = self._lines[0]
        uuid = self._family.fresh_uuid(self._conversation.id, self._family.uuid_of(first))
        parent = self.links.nearest(self._family.parent_of(first))
        line = self._new_line(payloads.decode(message.native), uuid, parent, first)
        edits.add_last(line, why_placeholder(message, first.line))
        return message

    def _new_line(self, native: dict[str, Any], uuid: str, parent: str | None, beside: Position) -> bytes:
        neighbour = self._source.decode(beside)
        copied = {key: neighbour[key] for key in _COPIED if key in neighbour}
        return payloads.encode({"type": "message", "uuid": uuid, "parentUuid": parent, **copied, **native})

    def _born(self) -> Iterator[tuple[int, tuple[str, str | None]]]:
        """Of each message that comes: its id and its parent, which is the message before it."""
        before: str | None = None
        for item, stays in self._window.steps:
            line = None if item.source is None else self._lines[item.source]
            if stays and line is not None:
                before = self._family.own_uuid(line) if self.chain else self._family.uuid_of(line)
                if self.chain:
                    self.chain.take(line, before)
                continue
            uuid = self._uuid_for(item, line)
            if self.chain and before is not None:
                yield id(item), (uuid, self.chain.add(uuid))
            elif before is None:
                self.links.put_before(self.left[0], uuid)
                if self.chain:
                    self.chain.add(uuid)
                yield id(item), (uuid, self.links.nearest(self._family.parent_of(self.left[0])))
            else:
                self.links.put_behind(before, uuid)
                yield id(item), (uuid, before)
            before = uuid

    def _uuid_for(self, item: Item, line: Position | None) -> str:
        """A line that moves keeps its id; a piece of one that stands elsewhere gets its own."""
        if line is not None and line not in self.left and line not in self._moved:
            self._moved.add(line)
            return self._family.uuid_of(line)
        return self._family.fresh_uuid(self._conversation.id, *(result.call_id for result in item.message.results))

    # --- results in the words of this file

    def _in_style(self, native: Payload) -> Payload:
        """The payload with the answers that the repair made written as this file writes its results."""
        content = payloads.decode(native).get("content")
        if self._style == "ai_sdk" or not any("output" in block for block in objects_in(content)):
            return native
        role = {} if self._style == "tool" else {"role": "user"}
        native = {**native, **role} if isinstance(native, dict) else native
        return payloads.replace(native, ("content",), [self._own_result(block) for block in content])

    def _own_result(self, block: Any) -> Any:
        if "output" not in fields_in(block):
            return block
        call_id, name = block["toolCallId"], block["toolName"]
        call = self._window.call(call_id)
        gave = {"input": call.arguments if call else {}, "result": {"llmContent": block["output"]["value"], "isError": True}}
        if self._style == "user":
            return {"type": "tool_result", "id": call_id, "name": name, **gave}
        return {"type": "tool-result", "toolCallId": call_id, "toolName": name, **gave}


_Style = Literal["tool", "user", "ai_sdk"]
"""Who gives results: `tool` with a `result`, in older files the `user`; `ai_sdk` has an `output` instead."""


def _style_of(messages: Sequence[Message]) -> _Style:
    """As the first result shows it; without any, as the calls are written."""
    blocks = [block for message in messages for block in objects_in(payloads.decode(message.native).get("content"))]
    for block in blocks:
        match block:
            case {"type": "tool_result"}:
                return "user"
            case {"type": "tool-result"}:
                return "ai_sdk" if "output" in block else "tool"
    return "ai_sdk" if any(block.get("type") == "tool-call" for block in blocks) else "tool"
