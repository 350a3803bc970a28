"""Claude Code session files, mended: lines go, lose blocks or are added, and the tree of lines is mended with them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, cast

from redline.errors import ExecutionError
from redline.formats.anthropic import Anthropic
from redline.mending.chain import Chain
from redline.mending.claude_drafts import Draft, Drafts
from redline.mending.family import Family
from redline.mending.fixes import Action, Fix, fix_for
from redline.mending.leaf import keep_last, placeholder, why_placeholder, would_be_replaced
from redline.mending.line_edits import LineEdits
from redline.mending.links import Links
from redline.mending.mender import Mended
from redline.mending.window import Step, Window
from redline.repair import Item, Strategy
from redline.transcripts import Reader, RecordedConversation
from redline.transcripts.base import Position
from redline.transcripts.claude_code import ClaudeCode
from redline.transcripts.source import Source
from redline.values import payloads
from redline.values.messages import Message, ToolCall, ToolResult

__all__ = ["ClaudeCodeMender"]

_FORMAT = Anthropic()
_COPIED = ("isSidechain", "userType", "cwd", "sessionId", "version", "gitBranch", "slug", "entrypoint", "agentId", "teamName")
"""What a new line takes from the one beside it."""


@dataclass(frozen=True)
class ClaudeCodeMender:
    """Mends `~/.claude/projects/*/*.jsonl`, main sessions and sub-agents alike."""

    is_chained: bool = False
    """Whether every line of the window is made to name the one before it: for files whose ids are missing or not unique."""

    formats: ClassVar[tuple[str, ...]] = ("claude-code",)
    name: ClassVar[str] = "Claude Code"
    reader: ClassVar[Reader] = ClaudeCode()

    def mend(self, source: Source, conversation: RecordedConversation, strategy: Strategy) -> Mended:
        """The lines of the last window, with only the bytes changed that must."""
        window = Window(conversation, strategy)
        if window.is_legal:
            return Mended(LineEdits(source), window.messages)
        return _Session(source, conversation, window, is_chained=self.is_chained).mended()


class _Gap(NamedTuple):
    """A place between two lines."""

    above: Position | None
    below: Position | None

    @property
    def either(self) -> Position:
        return cast("Position", self.above or self.below)


class _Session:
    """A session on its way: each message becomes drafts of lines, each draft a change in the file."""

    def __init__(self, source: Source, conversation: RecordedConversation, window: Window, *, is_chained: bool) -> None:
        self._source, self._conversation, self._window = source, conversation, window
        self._chain: Chain | None = Chain() if is_chained else None
        self._drafts, self._edits, self._family = Drafts(source, window), LineEdits(source), Family(source)
        self._entry_of = {line: number for number, lines in enumerate(window.positions) for line in lines}
        self._links = Links(self._family, max(self._entry_of, key=_offset))
        self._left: dict[Position, None] = {}
        """The lines that stay where they are, in the order of the messages."""
        self._placed: list[Position] = []
        """Those of them that were come to."""
        self._moved: set[Position] = set()
        self._asked: dict[str, Position] = {}
        """By the id of a call the line it stands in."""
        self._tails: dict[str, str] = {}
        """By the id of such a line the last of the results that hang on it."""

    def mended(self) -> Mended:
        """What must happen to the file."""
        drafts = [(step, draft) for step in self._window.steps for draft in self._drafts.of(step)]
        self._left = {draft.line: None for step, draft in drafts if draft.line and self._is_home(step, draft)}
        if drafts and not self._left:
            raise ExecutionError(f"{self._source.path} cannot be repaired: none of its lines says who speaks. Restore a copy.")
        self._remove_others({draft.line for _, draft in drafts})
        for number, (step, draft) in enumerate(drafts):
            if self._is_home(step, draft):
                self._keep(step, draft)
            else:
                self._add(step.item, draft, self._gap_before(drafts[number + 1 :]))
        messages: Sequence[Message] = self._window.repaired
        if not self._left and would_be_replaced(self._conversation):
            messages = [self._add_stub()]
        self._links.write(self._edits)
        if self._chain:
            self._chain.write(self._edits)
        if self._left:
            keep_last(self._conversation, self._last_line(*drafts[-1]), self._edits, among=self._left)
        self._repeat_for_twins()
        return Mended(self._edits, messages)

    def _last_line(self, step: Step, draft: Draft) -> Position:
        """The line that the conversation ends with; where a line is added after it, the last one in the file."""
        return cast("Position", draft.line) if self._is_home(step, draft) else max(self._left, key=_offset)

    def _is_home(self, step: Step, draft: Draft) -> bool:
        """Whether a draft is written where its line is; one that moves up takes the line with it, or a copy."""
        return step.stays and draft.line is not None and self._entry_of[draft.line] == step.item.source

    def _remove_others(self, used: set[Position | None]) -> None:
        for line in self._entry_of:
            if line not in self._left:
                self._links.drop(line)
                self._edits.remove(line, self._fix("move" if line in used else "remove", line))

    def _keep(self, step: Step, draft: Draft) -> None:
        line = cast("Position", draft.line)
        if not self._drafts.says_the_same(line, draft):
            self._edits.replace(line, self._drafts.written(line, draft), self._fix("change", line))
        if line != self._window.positions[self._entry_of[line]][0] or step.item.message.results:
            self._links.bind([line])
        self._note(line, self._family.uuid_of(line), self._links.nearest(self._family.parent_of(line)), draft.blocks)
        self._placed.append(line)
        if self._chain:
            self._chain.take(line, self._family.own_uuid(line))

    def _note(self, line: Position, uuid: str, parent: str | None, blocks: list[Any]) -> None:
        """Remember which line asked, and which answers hang on it one behind the other."""
        for part in _message(blocks).parts:
            match part:
                case ToolCall(id=str(call_id)):
                    self._asked[call_id] = line
                case ToolResult(call_id=str(call_id)) if call_id in self._asked:
                    asking = self._family.uuid_of(self._asked[call_id])
                    if parent == self._tails.get(asking, asking):
                        self._tails[asking] = uuid

    # --- lines that come

    def _gap_before(self, coming: Sequence[tuple[Step, Draft]]) -> _Gap:
        """Where a line must come to stand so that it is above those that are still to come."""
        below = min(
            (draft.line for step, draft in coming if draft.line and self._is_home(step, draft)), key=_offset, default=None
        )
        above = [line for line in self._placed if below is None or line.offset < below.offset]
        return _Gap(max(above, key=_offset, default=None), below)

    def _add(self, item: Item, draft: Draft, gap: _Gap) -> None:
        """An answer hangs on the line that asked, or behind the answers that hang there already."""
        message = _message(draft.blocks)
        asking = next((self._asked[result.call_id] for result in message.results if result.call_id in self._asked), None)
        beside = asking or gap.either
        uuid, line = self._begun(draft, message, beside)
        parent = self._hang(uuid, asking or gap.above)
        content = cast("bytes", payloads.replace(line, ("parentUuid",), parent))
        self._note(beside, uuid, parent, draft.blocks)
        told = Item(message, None if draft.line is None else item.source)
        if gap.above is None:
            self._edits.add_before(gap.either, content, self._window.added(told, (gap.either.line or 1) - 1))
        else:
            self._edits.add_behind(gap.above, content, self._window.added(told, gap.above.line))

    def _hang(self, uuid: str, on: Position | None) -> str | None:
        """The parent of a line that comes. Those who named that parent on the way to the end name the line."""
        if self._chain and self._chain.last is not None:
            return self._chain.add(uuid)
        if on is None:
            first = next(iter(self._left))
            self._links.put_before(first, uuid)
            if self._chain:
                self._chain.add(uuid)
            return self._links.nearest(self._family.parent_of(first))
        above = self._family.uuid_of(on)
        parent = self._tails.get(above, above)
        self._links.put_behind(parent, uuid)
        return parent

    def _begun(self, draft: Draft, message: Message, beside: Position) -> tuple[str, bytes]:
        """The id and the content of a line that comes: one that moves, a copy if some of it stands elsewhere, or a new one."""
        if draft.line is None:
            return self._new_line(message, beside)
        line = self._drafts.written(draft.line, draft)
        if draft.line not in self._left and draft.line not in self._moved:
            self._moved.add(draft.line)
            return self._family.uuid_of(draft.line), line
        uuid = self._family.fresh_uuid(self._conversation.id, self._family.uuid_of(draft.line), *_call_ids(message))
        return uuid, cast("bytes", payloads.replace(line, ("uuid",), uuid))

    def _new_line(self, message: Message, beside: Position) -> tuple[str, bytes]:
        """No clock is asked: the time is that of the line beside it."""
        neighbour = self._source.decode(beside)
        uuid = self._family.fresh_uuid(self._conversation.id, *(_call_ids(message) or [self._family.uuid_of(beside)]))
        line = {"parentUuid": None, **{key: neighbour[key] for key in _COPIED if key in neighbour}}
        line |= {"type": "user", "message": message.native, "uuid": uuid, "timestamp": neighbour.get("timestamp")}
        for result in message.results:
            words = f"Error: {result.text}" if result.is_error else result.text
            line |= {"toolUseResult": words, "sourceToolAssistantUUID": self._family.uuid_of(beside)}
        return uuid, payloads.encode(line)

    def _add_stub(self) -> Message:
        """Nothing is left, and a branch or a sub-agent would be taken for the conversation: a line holds its place."""
        message = placeholder(_FORMAT)
        first = next(iter(self._entry_of))
        _, line = self._new_line(message, first)
        parent = self._links.nearest(self._family.parent_of(first))
        content = cast("bytes", payloads.replace(line, ("parentUuid",), parent))
        self._edits.add_last(content, why_placeholder(message, first.line))
        return message

    # --- the rest

    def _repeat_for_twins(self) -> None:
        """A line that was written twice counts once only while both are the same."""
        for line, content in list(self._edits.changed.items()):
            for twin in self._family.twins(line):
                if content is None:
                    self._edits.remove(twin, Fix("remove", f"it repeats line {line.line}", twin.line))
                else:
                    self._edits.replace(twin, content, Fix("change", f"it repeats line {line.line}", twin.line))

    def _fix(self, action: Action, line: Position) -> Fix:
        number = self._entry_of[line]
        held = self._drafts.held_by(line)
        message = _message(held) if held else self._window.messages[number]
        ids = [*(call.id for call in message.calls), *_call_ids(message)]
        return fix_for(action, self._window.why(number, ids), message, line=line.line)


def _message(blocks: list[Any]) -> Message:
    return _FORMAT.read({"role": "user", "content": blocks})


def _call_ids(message: Message) -> list[str | None]:
    return [result.call_id for result in message.results]


def _offset(position: Position) -> int:
    return position.offset
