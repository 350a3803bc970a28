"""Claude Code session files, mended: lines go, lose blocks or are added, and the tree of lines is mended with them."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from operator import attrgetter
from typing import Any, ClassVar, NamedTuple, cast

from redline.agents.claude_code.reader import ClaudeCode
from redline.agents.mending import Action, Fix, LineEdits, MendedConversation, Mender
from redline.agents.mending.line_tree import LineTree, keep_at_end
from redline.agents.mending.window import BlockOrigins, MendedMessage, RepairedWindow
from redline.agents.transcripts import Position, RecordedConversation
from redline.agents.transcripts.source import Source
from redline.errors import ExecutionError
from redline.providers.anthropic.messages import Anthropic
from redline.providers.format import kind_of
from redline.repair import Strategy
from redline.values import payloads
from redline.values.messages import Message, ToolCall, ToolResult

_FORMAT = Anthropic()
_COPIED = ("isSidechain", "userType", "cwd", "sessionId", "version", "gitBranch", "slug", "entrypoint", "agentId", "teamName")
"""What a new line takes from the one beside it."""


@dataclass(frozen=True)
class ClaudeCodeMender(Mender):
    """Mends `~/.claude/projects/*/*.jsonl`, main sessions and sub-agents alike."""

    relinks_all: bool = False
    """Whether every line of the window is made to name the one before it: for files whose ids are missing or not unique."""

    formats: ClassVar[tuple[str, ...]] = ("claude-code",)
    name: ClassVar[str] = "Claude Code"
    looks_at: ClassVar[str] = "~/.claude/projects/PROJECT/SESSION-ID.jsonl"
    resumes_by: ClassVar[str] = "claude --resume SESSION-ID"
    reader = ClaudeCode()
    is_tree = True

    def mend(self, source: Source, conversation: RecordedConversation, strategy: Strategy) -> MendedConversation:
        """The lines of the last window, with only the bytes changed that must."""
        window = RepairedWindow(conversation, strategy)
        if window.is_legal and not window.gaps:
            return MendedConversation(LineEdits(source), window.messages)
        return _ClaudeCodeRepair(source, conversation, window, relinks_all=self.relinks_all).mend()


class _ClaudeCodeRepair:
    """The repair of one conversation: its lines are gone through in order, and what happens to each is noted as edits."""

    def __init__(
        self, source: Source, conversation: RecordedConversation, window: RepairedWindow, *, relinks_all: bool
    ) -> None:
        self._source, self._conversation, self._window = source, conversation, window
        self._lines, self._edits = ClaudeCodeLines(source, window), LineEdits(source)
        end = max(self._lines.message_of, key=_offset)
        self._tree = LineTree(source, end=end, gaps=window.gaps, relinks_all=relinks_all)
        self._staying: dict[Position, None] = {}
        """The lines that stay where they are, in the order of the messages."""
        self._placed: list[Position] = []
        """Those of them that were gone through."""
        self._moved: set[Position] = set()
        self._line_of_call: dict[str, Position] = {}
        self._last_answer: dict[str, str] = {}
        """By the id of a line with calls the last of the results that follow it, each the child of the one before."""

    def mend(self) -> MendedConversation:
        """What must change in the file."""
        lines = [line for repaired in self._window.repaired for line in self._lines.lines_of(repaired)]
        self._staying = {line.origin: None for line in lines if line.origin and line.stays}
        if lines and not self._staying:
            raise ExecutionError(f"{self._source.path} cannot be repaired: none of its lines says who speaks. Restore a copy.")
        used = {line.origin for line in lines}
        for position in self._lines.message_of:
            if position not in self._staying:
                self._tree.remove(position)
                self._edits.remove(position, self._fix("move" if position in used else "remove", position))
        for number, line in enumerate(lines):
            if line.stays:
                self._keep(line)
            else:
                self._add(line, lines[number + 1 :])
        messages: Sequence[Message] = self._window.result
        if not self._staying and self._window.would_be_replaced:
            # A branch or a sub-agent would be taken for the conversation: a line keeps its place.
            first = next(iter(self._lines.message_of))
            placeholder, fix = self._window.make_placeholder(first)
            _, content = self._new_line(placeholder, first)
            content = cast("bytes", payloads.replace(content, ("parentUuid",), self._tree.parent_of(first)))
            self._edits.add_last(content, fix)
            messages = [placeholder]
        self._tree.write_links(self._edits)
        if self._staying:
            # Where the conversation ends with a line that is added, that is after the last one that stays in the file.
            last = lines[-1].origin if lines[-1].stays else max(self._staying, key=_offset)
            keep_at_end(cast("Position", last), self._conversation, edits=self._edits, among=self._staying)
        self._tree.edit_copies(self._edits)
        return MendedConversation(self._edits, messages)

    def _keep(self, line: "ClaudeCodeLine") -> None:
        origin = cast("Position", line.origin)
        if not self._lines.holds(origin, line.blocks):
            self._edits.replace(origin, self._lines.write(origin, line.blocks), self._fix("change", origin))
        is_first = origin == self._window.positions[self._lines.message_of[origin]][0]
        # Further lines of a message stay with it, and results stay with their call.
        self._tree.keep(origin, keeps_parent=not is_first or bool(line.repaired.message.results))
        self._note_calls(line.blocks, origin, self._tree.uuid_of(origin), self._tree.parent_of(origin))
        self._placed.append(origin)

    def _add(self, line: "ClaudeCodeLine", coming: "Sequence[ClaudeCodeLine]") -> None:
        """Add a line before those that come. An answer is the child of the line that asked, or of the last answer to it."""
        below = min((one.origin for one in coming if one.origin and one.stays), key=_offset, default=None)
        placed = [position for position in self._placed if below is None or position.offset < below.offset]
        above = max(placed, key=_offset, default=None)
        message = _read(line.blocks)
        asking = next((self._line_of_call[call_id] for call_id in _call_ids(message) if call_id in self._line_of_call), None)
        beside = cast("Position", asking or above or below)
        if line.origin is None:
            uuid, content = self._new_line(message, beside)
        else:
            uuid, content = self._moved_line(line.origin, line.blocks)
        after = None
        if asking or above:
            parent_uuid = self._tree.uuid_of(beside)
            after = self._last_answer.get(parent_uuid, parent_uuid)
        parent = self._tree.add(uuid, after=after, before=next(iter(self._staying)))
        content = cast("bytes", payloads.replace(content, ("parentUuid",), parent))
        self._note_calls(line.blocks, beside, uuid, parent)
        added = MendedMessage(message, line.repaired.source if line.origin else None, stays=False, is_unchanged=False)
        if above:
            self._edits.add_after(above, content, self._window.fix_for_added(added, above.line))
        else:
            first = cast("Position", below)
            self._edits.add_before(first, content, self._window.fix_for_added(added, (first.line or 1) - 1))

    def _note_calls(self, blocks: list[Any], line: Position, uuid: str, parent: str | None) -> None:
        """Remember the line of each call, and the last line of the results that follow it."""
        for part in _read(blocks).parts:
            match part:
                case ToolCall(id=str(call_id)):
                    self._line_of_call[call_id] = line
                case ToolResult(call_id=str(call_id)) if call_id in self._line_of_call:
                    asking = self._tree.uuid_of(self._line_of_call[call_id])
                    if parent == self._last_answer.get(asking, asking):
                        self._last_answer[asking] = uuid

    def _moved_line(self, origin: Position, blocks: list[Any]) -> tuple[str, bytes]:
        """The id and the content of a line that moves; it is copied under a new id if a piece of it is elsewhere."""
        content, uuid = self._lines.write(origin, blocks), self._tree.uuid_of(origin)
        if origin not in self._staying and origin not in self._moved:
            self._moved.add(origin)
            return uuid, content
        uuid = self._tree.make_uuid(self._conversation.id, uuid, *_call_ids(_read(blocks)))
        return uuid, cast("bytes", payloads.replace(content, ("uuid",), uuid))

    def _new_line(self, message: Message, beside: Position) -> tuple[str, bytes]:
        """The id and the content of a line that the agent never wrote. No clock is asked: it has the time of its neighbour."""
        neighbour, neighbour_uuid = self._source.decode(beside), self._tree.uuid_of(beside)
        uuid = self._tree.make_uuid(self._conversation.id, *(_call_ids(message) or [neighbour_uuid]))
        line = {"parentUuid": None, **{key: neighbour[key] for key in _COPIED if key in neighbour}}
        line |= {"type": "user", "message": message.native, "uuid": uuid, "timestamp": neighbour.get("timestamp")}
        for result in message.results:
            words = f"Error: {result.text}" if result.is_error else result.text
            line |= {"toolUseResult": words, "sourceToolAssistantUUID": neighbour_uuid}
        return uuid, payloads.encode(line)

    def _fix(self, action: Action, line: Position) -> Fix:
        number, blocks = self._lines.message_of[line], self._lines.blocks[line]
        message = _read(blocks) if blocks else self._window.messages[number]
        why = self._window.why(number, [*(call.id for call in message.calls), *_call_ids(message)])
        return Fix.for_message(action, why, message, line=line.line)


def _read(blocks: list[Any]) -> Message:
    return _FORMAT.read({"role": "user", "content": blocks})


def _call_ids(message: Message) -> list[str | None]:
    """The calls that a message answers."""
    return [result.call_id for result in message.results]


_CONTENT = ("message", "content")
_offset = attrgetter("offset")


@dataclass
class ClaudeCodeLine:
    """A line as it will be."""

    origin: Position | None
    """The line that it is made from; None for a new one."""
    blocks: list[Any]
    repaired: MendedMessage
    """The message that it is a piece of."""
    stays: bool
    """Whether it is written where its origin is; one that moves up is moved there, or copied if a piece of it stays."""


class _BlockPlace(NamedTuple):
    line: Position
    number: int


class ClaudeCodeLines:
    """The lines of a window with their blocks, and the lines of its repaired messages made from them."""

    def __init__(self, source: Source, window: RepairedWindow) -> None:
        self._source, self._window = source, window
        self._origins: BlockOrigins[_BlockPlace] = BlockOrigins()
        self.blocks: dict[Position, list[Any]] = {}
        """Of each line as it was; none of one that holds plain words."""
        self._roles: dict[Position, str] = {}
        self.message_of: dict[Position, int] = {}
        """By a line the number of its message in the window."""
        for message_number, (positions, message) in enumerate(zip(window.positions, window.messages, strict=True)):
            rest = iter(_blocks_of(message))
            for line in positions:
                content = None if len(positions) == 1 else source.decode(line)["message"].get("content")
                # Plain words become one block where they are put together with others.
                count = 1 if isinstance(content, str) else len(content) if isinstance(content, list) else 0
                blocks = list(rest if len(positions) == 1 else islice(rest, count))
                self.blocks[line], self._roles[line], self.message_of[line] = blocks, _role_of(message), message_number
                for number, block in enumerate(blocks):
                    self._origins.add(block, _BlockPlace(line, number))

    def holds(self, line: Position, blocks: list[Any]) -> bool:
        """Whether a line has just these blocks already."""
        before = self.blocks[line]
        return len(before) == len(blocks) and all(old is new for old, new in zip(before, blocks, strict=True))

    def lines_of(self, repaired: MendedMessage) -> list[ClaudeCodeLine]:
        """The lines of one message, in their order."""
        message, source = repaired.message, repaired.source
        own = () if source is None else self._window.positions[source]
        if repaired.is_unchanged:
            return [self._line(line, self.blocks[line], repaired) for line in own]
        blocks, role = _blocks_of(message), _role_of(message)
        origins: list[Position | None] = []
        for block in blocks:
            place = self._origins.find(block)
            origin = place.line if place and self._roles[place.line] == role else None  # a line cannot change sides
            if origin is None and own and self._roles[own[0]] == role and kind_of(block) == "tool_result":
                # A result that holds less than before stays in its line. A result that the repair made has no line.
                call = block.get("tool_use_id")
                held = (line for line in own if any(_answers(one, call) for one in self.blocks[line]))
                origin = next(held, None)
            elif origin is None and own and self._roles[own[0]] == role:
                # The repair corrected a block: it belongs to the line of the one before it.
                origin = next((known for known in reversed(origins) if known in own), own[0])
            origins.append(origin)
        lines: list[ClaudeCodeLine] = []
        for number, (block, origin) in enumerate(zip(blocks, origins, strict=True)):
            begun = {line.origin for line in lines if line.origin}
            # What must come before something of a line that has begun cannot have a line after it.
            if origin in begun or (origin is None and not begun.isdisjoint(origins[number + 1 :])):
                lines[-1].blocks.append(block)
            else:
                lines.append(self._line(origin, [block], repaired))
        return lines

    def write(self, line: Position, blocks: list[Any]) -> bytes:
        """A line with these blocks; nothing else in it changes, and of blocks that it had only the fields that are new."""
        content = self._source.read(line)
        if self.holds(line, blocks):
            return content
        places = [self._origins.find(block) for block in blocks]
        numbers = [place.number if place and place.line == line else -1 for place in places]
        if -1 in numbers or numbers != sorted(numbers):
            return cast("bytes", payloads.replace(content, _CONTENT, blocks))
        before, payload = self.blocks[line], cast("payloads.Payload", content)
        for number, block in dict(zip(numbers, blocks, strict=True)).items():
            for key in block if block is not before[number] else ():
                if block[key] is not before[number].get(key):
                    payload = payloads.replace(payload, (*_CONTENT, number, key), block[key])
        gone = [(*_CONTENT, number) for number in range(len(before)) if number not in numbers]
        return cast("bytes", payloads.remove(payload, gone))

    def _line(self, origin: Position | None, blocks: list[Any], repaired: MendedMessage) -> ClaudeCodeLine:
        stays = repaired.stays and origin is not None and self.message_of[origin] == repaired.source
        return ClaudeCodeLine(origin, blocks, repaired, stays)


def _blocks_of(message: Message) -> list[Any]:
    """The blocks of a message; none if it is plain words."""
    content = payloads.decode(message.native)["content"]
    return content if isinstance(content, list) else []


def _answers(block: Any, call: object) -> bool:
    return kind_of(block) == "tool_result" and block.get("tool_use_id") == call


def _role_of(message: Message) -> str:
    return str(payloads.decode(message.native)["role"])
