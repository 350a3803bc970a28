"""Neovate session files, mended: message lines go, change or are added, and name the nearest parent that is left."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, cast

from redline.formats.ai_sdk import AiSdk
from redline.mending.edits import LineEdits
from redline.mending.line_tree import LineTree, keep_at_end
from redline.mending.mender import MendedConversation
from redline.mending.records import edit_records
from redline.mending.repaired_window import (
    RepairedWindow,
    gaps_in_last_window,
    make_placeholder,
    placeholder_fix,
    would_be_replaced,
)
from redline.repair import Strategy
from redline.transcripts import Position, Reader, RecordedConversation
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

_ResultStyle = Literal["tool", "user", "ai_sdk"]
"""Who gives results: `tool` with a `result`, in older files the `user`; `ai_sdk` has an `output` instead."""


@dataclass(frozen=True)
class NeovateMender:
    """Mends Neovate's session files."""

    relinks_all: bool = False
    """Whether every line of the path is made to name the one before it: for files whose ids are missing or not unique."""

    formats: ClassVar[tuple[str, ...]] = ("neovate",)
    name: ClassVar[str] = "Neovate"
    reader: ClassVar[Reader] = Neovate()

    def mend(self, source: Source, conversation: RecordedConversation, strategy: Strategy) -> MendedConversation:
        """The lines of the active path, with only the bytes changed that must."""
        edits = LineEdits(source)
        messages = [_FORMAT.read(source.read(entry.positions[0])) for entry in conversation.entries]
        window = RepairedWindow(conversation, strategy, messages)
        lines, gaps = [line for (line,) in window.positions], gaps_in_last_window(conversation)
        if not lines:
            return MendedConversation(edits, window.messages)
        tree = LineTree(source, end=lines[-1], gaps=gaps, relinks_all=self.relinks_all)
        tree.remove_copies(edits)
        if window.is_legal and not gaps:
            return MendedConversation(edits, window.messages)
        staying = [lines[one.source] for one in window.repaired if one.stays and one.source is not None]
        for line in {*lines}.difference(staying):
            tree.remove(line)
        links = _add_to_tree(tree, window, conversation.id, staying)
        writer = _NeovateWriter(source, window, links)
        edit_records(window, window.repaired, edits=edits, writer=writer)
        tree.write_links(edits)
        if staying:
            keep_at_end(staying[-1], conversation, edits=edits)
        elif would_be_replaced(conversation):
            placeholder, first = make_placeholder(_FORMAT), lines[0]
            uuid = tree.make_uuid(conversation.id, tree.uuid_of(first))
            content = writer.new_line(payloads.decode(placeholder.native), uuid, tree.parent_of(first), first)
            edits.add_last(content, placeholder_fix(placeholder, first.line))
            return MendedConversation(edits, [placeholder])
        return MendedConversation(edits, window.result)


_Links = tuple[str, str | None]
"""The id of a line, and its parent."""


def _add_to_tree(tree: LineTree, window: RepairedWindow, session: str, staying: Sequence[Position]) -> list[_Links]:
    """Go through the messages in order, and give each that is added an id, and the message before it as its parent."""
    links: list[_Links] = []
    moved: set[Position] = set()
    before: str | None = None
    for one in window.repaired:
        line = None if one.source is None else window.positions[one.source][0]
        if one.stays and line is not None:
            before = tree.keep(line)
            continue
        if line is None or line in staying or line in moved:  # new, or a piece of a message of which another has the line
            uuid = tree.make_uuid(session, *(result.call_id for result in one.message.results))
        else:
            moved.add(line)
            uuid = tree.uuid_of(line)
        links.append((uuid, tree.add(uuid, after=before, before=staying[0])))
        before = uuid
    return links


class _NeovateWriter:
    """A record is the message with its place in the tree beside it."""

    in_list = False

    def __init__(self, source: Source, window: RepairedWindow, links: Iterable[_Links]) -> None:
        """The links are those of the messages that are added, in their order."""
        self._source, self._window = source, window
        self._links = iter(links)
        self._style = _style_of(window.messages)

    def rewrite(self, position: Position, message: Message) -> bytes:  # noqa: ARG002 - the message holds all of it
        return cast("bytes", self._in_style(message.native))

    def create(self, message: Message, beside: Position) -> bytes:
        uuid, parent = next(self._links)
        native = self._in_style(message.native)
        if isinstance(native, dict):
            return self.new_line(native, uuid, parent, beside)
        return cast("bytes", payloads.replace(payloads.replace(native, ("uuid",), uuid), ("parentUuid",), parent))

    def new_line(self, native: dict[str, Any], uuid: str, parent: str | None, beside: Position) -> bytes:
        neighbour = self._source.decode(beside)
        copied = {key: neighbour[key] for key in _COPIED if key in neighbour}
        return payloads.encode({"type": "message", "uuid": uuid, "parentUuid": parent, **copied, **native})

    def _in_style(self, native: Payload) -> Payload:
        """The payload with the answers that the repair made written as this file writes its results."""
        content = payloads.decode(native).get("content")
        if self._style == "ai_sdk" or not any("output" in block for block in objects_in(content)):
            return native
        if self._style == "user" and isinstance(native, dict):
            native = {**native, "role": "user"}
        blocks: list[Any] = []
        for block in content:
            if "output" not in fields_in(block):
                blocks.append(block)
                continue
            call_id, name = block["toolCallId"], block["toolName"]
            call = self._window.calls.get(call_id)
            gave = {
                "input": call.arguments if call else {},
                "result": {"llmContent": block["output"]["value"], "isError": True},
            }
            if self._style == "user":
                blocks.append({"type": "tool_result", "id": call_id, "name": name, **gave})
            else:
                blocks.append({"type": "tool-result", "toolCallId": call_id, "toolName": name, **gave})
        return payloads.replace(native, ("content",), blocks)


def _style_of(messages: Sequence[Message]) -> _ResultStyle:
    """As the first result shows it; without any, as the calls are written."""
    blocks = [block for message in messages for block in objects_in(payloads.decode(message.native).get("content"))]
    for block in blocks:
        match block:
            case {"type": "tool_result"}:
                return "user"
            case {"type": "tool-result"}:
                return "ai_sdk" if "output" in block else "tool"
    return "ai_sdk" if any(block.get("type") == "tool-call" for block in blocks) else "tool"
