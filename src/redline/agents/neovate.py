"""Neovate session files, read and mended: a tree of message lines, of which the path to the last one is the conversation."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, cast

import msgspec

from redline.agents.mending import LineEdits, MendedConversation, Mender
from redline.agents.mending.line_tree import LineTree, keep_at_end
from redline.agents.mending.window import RepairedWindow, edit_records
from redline.agents.transcripts import Entry, Position, RecordedBranch, RecordedConversation, Transcript
from redline.agents.transcripts.detect import Reader, Sample, SessionDir
from redline.agents.transcripts.document import head_decoder
from redline.agents.transcripts.heads import AnthropicTokens, fields_in, objects_in, parse_time_ms
from redline.agents.transcripts.source import LineLinks, Source, index_lines, without_repeats
from redline.providers.ai_sdk.messages import AiSdk
from redline.repair import Strategy
from redline.values import payloads
from redline.values.messages import Message
from redline.values.payloads import Payload

_FORMAT = AiSdk()


class Neovate(Reader):
    """Reads Neovate's session files: JSON Lines whose messages name their parents."""

    name: ClassVar[str] = "neovate"
    session_dir = SessionDir("Neovate", ".neovate/projects", "*/*.jsonl")

    def recognizes(self, sample: Sample) -> bool:
        """Lines of type `message` with an id of their own and a role."""
        return any(record.get("type") == "message" and {"uuid", "role"} <= record.keys() for record in sample.records)

    def read(self, source: Source) -> Transcript:
        """One conversation: its active path and its branches. A line whose parent is missing follows the message before it."""
        index = index_lines(source, head_decoder(StoredLine))
        stored = ((position, line) for position, line in index.records if line.type == "message")
        located = list(without_repeats(source, stored, lambda line: line.uuid))
        if not located:
            return Transcript(source.path, self.name, (), tuple(index.problems))
        positions, lines = [position for position, _ in located], [line for _, line in located]
        links = LineLinks(lines, _link_of)
        path = active_path(lines, links)
        entry_of: dict[int | None, int] = {number: entry for entry, number in enumerate(path.numbers)}
        gaps = links.gaps(positions, path.numbers)
        conversation = RecordedConversation(
            id=next((line.session_id for _, line in located if line.session_id), source.path.stem),
            format=_FORMAT.name,
            entries=tuple(_entry(source, *located[number]) for number in path.numbers),
            branches=tuple(
                RecordedBranch(entry_of.get(fork), tuple(_entry(source, *located[number]) for number in numbers))
                for fork, numbers in links.branches(path.numbers)
            ),
            gaps=gaps,
        )
        problems = (*index.problems, *(gap.as_problem(source.path) for gap in gaps if gap.joined_to))
        return Transcript(source.path, self.name, (conversation,), problems)


class _NeovateBlock(msgspec.Struct, rename={"tool_call_id": "toolCallId"}):
    type: str | None = None
    id: str | None = None
    tool_call_id: str | None = None
    tool_use_id: str | None = None


class StoredLine(msgspec.Struct, rename="camel"):
    """What the tree needs of a stored line."""

    type: str | None = None
    uuid: str | None = None
    parent_uuid: str | None = None
    role: str | None = None
    content: list[_NeovateBlock] | str | None = None
    session_id: str | None = None
    timestamp: str | int | float | None = None
    model: str | None = None
    usage: AnthropicTokens | None = None

    @property
    def blocks(self) -> Sequence[_NeovateBlock]:
        """The blocks of its content."""
        return self.content if isinstance(self.content, list) else ()

    @property
    def asks(self) -> set[str]:
        """The ids of the calls it makes."""
        calls = (block for block in self.blocks if block.type in ("tool_use", "tool-call"))
        return {call_id for block in calls if (call_id := block.tool_call_id or block.id)}

    @property
    def answers(self) -> set[str]:
        """The ids of the calls it holds results for; older files name them `id`."""
        results = (block for block in self.blocks if block.type in ("tool_result", "tool-result"))
        return {call_id for block in results if (call_id := block.tool_call_id or block.tool_use_id or block.id)}


class ActivePath(msgspec.Struct, frozen=True):
    """Which lines of a file are the conversation, by their number, in file order."""

    numbers: tuple[int, ...]
    gap: int | None = None
    """The line whose parent is not in the file: what came before it is unknown."""


def _link_of(line: StoredLine) -> tuple[str | None, str | None]:
    return line.uuid, line.parent_uuid


def active_path(lines: Sequence[StoredLine], links: LineLinks | None = None) -> ActivePath:
    """The lines from the last one up to a root, a gap or a circle, and siblings of results on it, which ran in parallel."""
    links = links or LineLinks(lines, _link_of, joins_gaps=False)
    children: dict[str, list[int]] = {}
    for number, line in enumerate(lines):
        if line.parent_uuid:
            children.setdefault(line.parent_uuid, []).append(number)
    way = links.path()
    found, following = set(way), set[str]()
    for number in reversed(way):
        line, answers = lines[number], lines[number].answers
        unanswered = line.asks - following if following else set[str]()
        for child in children.get(line.uuid or "", ()) if unanswered else ():
            if answered := lines[child].answers & unanswered:
                unanswered -= answered
                found.add(child)
        following = following | answers if answers else set()
    return ActivePath(tuple(sorted(found)), way[0] if way and way[0] in links.missing else None)


def _entry(source: Source, position: Position, line: StoredLine) -> Entry:
    def load() -> Message:
        return _FORMAT.read(source.decode(position))

    usage = line.usage.as_usage() if line.usage else None
    return Entry(load, (position,), parse_time_ms(line.timestamp), line.uuid, line.model, usage)


_COPIED = ("sessionId", "cwd", "timestamp")
"""What a new line takes from the one beside it; no clock is asked."""

_Links = tuple[str, str | None]
"""The id of a line, and its parent."""
_ResultStyle = Literal["tool", "user", "output"]
"""Who gives results: `tool` with a `result`, in older files the `user`; `output` has that field instead, as the AI SDK does."""


@dataclass(frozen=True)
class NeovateMender(Mender):
    """Mends Neovate's session files."""

    relinks_all: bool = False
    """Whether every line of the path is made to name the one before it: for files whose ids are missing or not unique."""

    formats: ClassVar[tuple[str, ...]] = ("neovate",)
    name: ClassVar[str] = "Neovate"
    looks_at: ClassVar[str] = "~/.neovate/projects/PROJECT/SESSION-ID.jsonl"
    resumes_by: ClassVar[str] = "neovate --resume SESSION-ID"
    reader = Neovate()
    is_tree = True

    def mend(self, source: Source, conversation: RecordedConversation, strategy: Strategy) -> MendedConversation:
        """The lines of the active path, with only the bytes changed that must."""
        edits = LineEdits(source)
        messages = [_FORMAT.read(source.read(entry.positions[0])) for entry in conversation.entries]
        window = RepairedWindow(conversation, strategy, messages)
        lines = [line for (line,) in window.positions]
        if not lines:
            return MendedConversation(edits, window.messages)
        tree = LineTree(source, end=lines[-1], gaps=window.gaps, relinks_all=self.relinks_all)
        tree.remove_copies(edits)
        if window.is_legal and not window.gaps:
            return MendedConversation(edits, window.messages)
        staying = [lines[one.source] for one in window.repaired if one.stays and one.source is not None]
        for line in {*lines}.difference(staying):
            tree.remove(line)
        links: list[_Links] = []  # each line that is added gets an id, and the message before it as its parent
        moved: set[Position] = set()
        before: str | None = None
        for one in window.repaired:
            at = None if one.source is None else lines[one.source]
            if one.stays and at is not None:
                before = tree.keep(at)
                continue
            if at is None or at in staying or at in moved:  # new, or a piece of a message of which another has the at
                uuid = tree.make_uuid(conversation.id, *(result.call_id for result in one.message.results))
            else:
                moved.add(at)
                uuid = tree.uuid_of(at)
            links.append((uuid, tree.add(uuid, after=before, before=staying[0])))
            before = uuid
        writer = _NeovateWriter(source, window, links)
        edit_records(window, window.repaired, edits=edits, rewrite=writer.rewrite, create=writer.create)
        tree.write_links(edits)
        if staying:
            keep_at_end(staying[-1], conversation, edits=edits)
        elif window.would_be_replaced:
            placeholder, fix = window.make_placeholder(first := lines[0])
            uuid = tree.make_uuid(conversation.id, tree.uuid_of(first))
            edits.add_last(writer.new_line(payloads.decode(placeholder.native), uuid, tree.parent_of(first), first), fix)
            return MendedConversation(edits, [placeholder])
        return MendedConversation(edits, window.result)


class _NeovateWriter:
    """A record is the message with its place in the tree beside it."""

    def __init__(self, source: Source, window: RepairedWindow, links: Iterable[_Links]) -> None:
        """The links are those of the messages that are added, in their order."""
        self._source, self._window = source, window
        self._links = iter(links)
        blocks = [block for one in window.messages for block in objects_in(payloads.decode(one.native).get("content"))]
        results = (block for block in blocks if block.get("type") in ("tool_result", "tool-result"))
        # As the first result shows it; without any, as the calls are written.
        self._style: _ResultStyle = "output" if any(block.get("type") == "tool-call" for block in blocks) else "tool"
        if first := next(results, None):
            old: _ResultStyle = "user" if first["type"] == "tool_result" else "tool"
            self._style = "output" if old == "tool" and "output" in first else old

    def rewrite(self, message: Message, _: Position) -> bytes:
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
        if self._style == "output" or not any("output" in block for block in objects_in(content)):
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
            result = {"llmContent": block["output"]["value"], "isError": True}
            named = {"type": "tool-result", "toolCallId": call_id, "toolName": name}
            if self._style == "user":
                named = {"type": "tool_result", "id": call_id, "name": name}
            blocks.append({**named, "input": call.arguments if call else {}, "result": result})
        return payloads.replace(native, ("content",), blocks)
