"""The conversations that one goes on from: their messages, as they were when it began, for references such as `0#12.0`."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from redline.agents.readers import RecordedConversation, read_transcript
from redline.engine.state import State
from redline.errors import ExecutionError, RedlineError, ValidationError
from redline.providers import find_format
from redline.record.addresses import masked
from redline.record.backends.jsonl import begins_like_log
from redline.record.opening import read_log
from redline.record.reading import ReadOnlyLog
from redline.record.records import ForkedFrom
from redline.record.timeline import Timeline
from redline.values.messages import Message

MessageFinder = Callable[[int], Message | None]
_HEAD_BYTES = 4096


@dataclass(slots=True)
class Origins:
    """Finds messages of the conversations that one goes on from. Each is read once, when something of it is asked for."""

    forked_from: ForkedFrom | None
    address: str | None
    """Of the conversation itself: its origin is looked for beside it, and with its password."""
    open_origin: "Callable[[], tuple[State, Origins]] | None" = None
    """The origin itself, where it is in this process: the only way back to one in memory."""
    _known: "tuple[MessageFinder, Origins] | None" = field(default=None, init=False)

    def finder(self, generation: int) -> MessageFinder:
        """Finds the messages of the conversation of this generation, 0 for the first."""
        own = self.forked_from.generation if self.forked_from is not None else 0
        if generation >= own or self.forked_from is None:
            raise ValidationError(f"There is no conversation {generation} before this one, which is {own}. Copy the reference.")
        find, before = self._origin(self.forked_from)
        return find if generation == own - 1 else before.finder(generation)

    def _origin(self, forked: ForkedFrom) -> "tuple[MessageFinder, Origins]":
        if self._known is None:
            if self.open_origin is not None:
                state, before = self.open_origin()
                self._known = _finder_in(state), before
            else:
                self._known = self._read(forked)
        return self._known

    def _read(self, forked: ForkedFrom) -> "tuple[MessageFinder, Origins]":
        address = self._address_of(forked.origin)
        try:
            if "://" not in address and _is_session_file(Path(address)):
                entries = list(_every(read_transcript(address).conversations))[forked.record or 0].entries
                return (lambda index: entries[index].message if index < len(entries) else None), Origins(None, address)
            log = read_log(address)
            known = log.header.message_format if log.header is not None else None
            timeline = Timeline(ReadOnlyLog(log.records))
            state = State(find_format(known) if known else None)
            for one in timeline.path(forked.record):
                state.apply(one.record)
        except (RedlineError, OSError, IndexError) as problem:
            how = "It must be where it was, or in the folder of this conversation."
            raise ExecutionError(f"The origin {forked.origin} cannot be read: {problem}. {how}") from problem
        return _finder_in(state), Origins(state.forked_from, address)

    def _address_of(self, origin: str) -> str:
        """Where the origin is now: as it is named, with this conversation's own password, or a file beside this one."""
        own = self.address or ""
        base, separator, name = origin.rpartition("#")
        if "://" in origin:
            own_base = own.rpartition("#")[0]
            return f"{own_base}{separator}{name}" if own_base and masked(own_base) == base else origin
        if origin == "memory":
            raise ExecutionError("The origin of this conversation was in memory, and is gone: nothing of it can be read.")
        beside = Path(own).parent / Path(origin).name
        return origin if Path(origin).exists() or not beside.exists() else str(beside)


def _every(conversations: Sequence[RecordedConversation]) -> Iterator[RecordedConversation]:
    """Those of a session file, each followed by its sub-agents, as the commands number them."""
    for one in conversations:
        yield one
        yield from _every(one.subagents)


def _finder_in(state: State) -> MessageFinder:
    return lambda index: state.current(index) if index < len(state) else None


def _is_session_file(path: Path) -> bool:
    """Whether a file is another agent's, and no log of Redline's own."""
    with path.open("rb") as file:
        beginning = file.read(_HEAD_BYTES)
    return b'"redline-log"' not in beginning and not begins_like_log(beginning)
