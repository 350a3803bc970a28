"""Results that must stay whole: those that a sent message points to, and those that the agent asked for a second time."""

import hashlib
from collections.abc import Callable, Iterator

import msgspec

from redline.engine.state import State
from redline.record.records import Strike
from redline.rules.facts import Facts, Seen, points_to_latest
from redline.rules.results import call_fingerprint, read_paths
from redline.rules.rule import Mark
from redline.tools import Reads
from redline.values.messages import Text, ToolResult
from redline.values.payloads import Path
from redline.values.words import is_placeholder

GIVEN_BACK = "given_back"
"""The name of strikes that put words in the place of an agent's back pointer, because those it points to are not sent."""

_POINTING_RULES = {"historical_reads": "file", "repeated_calls": "call"}
"""Rules whose placeholders send the model to the latest result, and the kind of subject by which that is the latest."""

_CALL_LETTERS = 12
"""Of the fingerprint of a call: enough to tell those of one conversation apart."""

_READABLE = frozenset({"offload_results", "long_results"})
"""What these rules leave of a result still shows it in part, and says how to get the rest."""


class _Result(msgspec.Struct, frozen=True, array_like=True):
    """A result in the record."""

    index: int
    at: Path
    digest: bytes
    """Of its words."""


class _BackPointer(msgspec.Struct, frozen=True, array_like=True):
    """An agent's result that only points, and the result that it points to."""

    index: int
    at: Path
    pointed: _Result
    is_hidden: bool = False
    """The result that it points to is in the record, but not in the view."""


class PointersMemory(msgspec.Struct):
    """All that is known of a view, as plain values. A subject is a file that is read, or a call with its arguments."""

    latest: dict[str, _Result] = {}
    """By subject, the latest result about it."""
    wanted: set[str] = set()
    """Subjects whose latest result stays: a placeholder points to it, or the agent asked for it again after a strike."""
    asked_again: list[int] = []
    """The messages with results that the agent asked for again after a strike."""
    forward: dict[str, int] = {}
    """Files to whose latest read an agent's pointer leads, and the index of that pointer."""
    back: list[_BackPointer] = []


class Pointers:
    """Is shown each part that is sent, once, and says which results stay whole."""

    def __init__(self, state: State, root: str, make_facts: Callable[[], Facts]) -> None:
        self._state, self._root, self._make_facts = state, root, make_facts
        self.restore(PointersMemory())

    def restore(self, memory: PointersMemory) -> None:
        """Go on from what was known."""
        self.memory = memory
        self.changed_at: set[int] = set()
        """The messages of which other results stay than before; whoever looks takes them out."""
        self._subjects_at: dict[int, list[str]] = {}
        """By index, the subjects of which a result there was the latest."""
        self._pointed_at: dict[int, list[Path]] = {}
        """By index, the results to which agents point."""
        for subject, result in memory.latest.items():
            self._subjects_at.setdefault(result.index, []).append(subject)
        for back in memory.back:
            self._pointed_at.setdefault(back.pointed.index, []).append(back.pointed.at)

    def see(self, seen: Seen) -> None:
        """The next part of the view."""
        part = seen.part
        if not isinstance(part, ToolResult) or seen.pointer == "gone":
            return
        if seen.pointer == "earlier":
            self._see_back_pointer(seen)
            return
        if seen.result is not None and not seen.is_error and not is_placeholder(seen.result.text):
            self._see_result(seen, seen.result)
        if any(isinstance(action, Reads) for action in seen.actions) and points_to_latest(part.text):
            self._see_forward_pointer(seen)

    def allow(self, mark: Mark, see: Callable[[Mark], Seen | None]) -> bool:
        """Whether a mark may be made. If its placeholder points to the latest result, that result must be sent whole, and
        stays from now on."""
        kind = _POINTING_RULES.get(mark.rule)
        seen = see(mark) if kind is not None else None
        if kind is None or seen is None:
            return True
        subjects = [one for one in self._subjects(seen) if one.startswith(kind) and one in self.memory.latest]
        latest = [self.memory.latest[one] for one in subjects]
        if any((one.index, one.at) == (mark.index, mark.at) or self._strikes_on(one) for one in latest):
            return False
        self.memory.wanted.update(subjects)
        self.changed_at.update(one.index for one in latest)
        return True

    def keeps(self, index: int, at: Path) -> bool:
        """Whether a part must stay: it is a result that must, or is inside one, or around one."""
        memory = self.memory
        wanted = [memory.latest[one] for one in self._subjects_at.get(index, ()) if one in memory.wanted]
        stays = [*self._pointed_at.get(index, ()), *(one.at for one in wanted if one.index == index)]
        return any(at[: len(own)] == own or own[: len(at)] == at for own in stays)

    def asked_again_now(self) -> int:
        """How many of the messages since the last answer hold what the agent asked for again after a strike."""
        state, asked = self._state, self.memory.asked_again
        visible = reversed(state.view.indices) if asked else ()
        last = next((index for index in visible if state.current(index).role == "assistant"), -1)
        return sum(index > last for index in asked)

    @property
    def keeps_some(self) -> bool:
        """Whether any result must stay."""
        return bool(self._pointed_at or self.memory.wanted)

    def marks(self) -> Iterator[Mark]:
        """For each back pointer whose words are not sent: the words, to be given back in its place."""
        for back, _ in self._lost():
            if self._may_strike(back) and (words := self._words_of(back.pointed)) is not None:
                why = (
                    f"the agent points to message {back.pointed.index}, which is not sent whole: its words are given back here"
                )
                yield Mark(GIVEN_BACK, back.index, back.at, words, why)

    def strikes_to_lift(self) -> Iterator[tuple[Strike, str]]:
        """For each back pointer whose words are not sent, and cannot be given back in its place: the strikes on them, and why
        they must go."""
        for back, strikes in self._lost():
            if not self._may_strike(back) or self._words_of(back.pointed) is None:
                for strike in strikes:
                    yield strike, f"message {back.index} points to it"
        for subject, index in self.memory.forward.items():
            latest = self.memory.latest.get(subject)
            for strike in self._strikes_on(latest) if latest is not None else ():
                if strike.rule not in _READABLE:
                    yield strike, f"message {index} points to it"

    # --- the pieces

    def _see_back_pointer(self, seen: Seen) -> None:
        """Find the result that it points to: the latest of the same call, else of the same file; if need be, a hidden one."""
        pointed, is_hidden = self._pointed_by(seen), False
        if pointed is None:
            record, facts = Pointers(self._state, self._root, self._make_facts), self._make_facts()
            for index in range(seen.index):
                for one in facts.add(index, self._state.current(index)):
                    if one.result is not None and not one.is_error:
                        record._see_result(one, one.result)
            pointed, is_hidden = record._pointed_by(seen), True
        if pointed is not None:
            self.memory.back.append(_BackPointer(seen.index, seen.part.at, pointed, is_hidden))
            self._pointed_at.setdefault(pointed.index, []).append(pointed.at)
            self.changed_at.add(pointed.index)

    def _see_forward_pointer(self, seen: Seen) -> None:
        """The latest read of each of its files stays. One that comes later takes its place."""
        for subject in self._subjects(seen):
            if subject.startswith("file"):
                self.memory.forward[subject] = seen.index
                self.memory.wanted.add(subject)
                self.changed_at.update(one.index for one in (self.memory.latest.get(subject),) if one is not None)

    def _pointed_by(self, seen: Seen) -> _Result | None:
        return next((self.memory.latest[one] for one in self._subjects(seen) if one in self.memory.latest), None)

    def _see_result(self, seen: Seen, result: ToolResult) -> None:
        memory = self.memory
        digest = hashlib.blake2b(result.text.encode("utf-8", "surrogatepass"), digest_size=6).digest()
        latest, subjects = _Result(seen.index, result.at, digest), self._subjects(seen)
        for subject in subjects:
            before = memory.latest.get(subject)
            memory.latest[subject] = latest
            if before is not None and self.is_asked_for_again(subject, before, latest):
                memory.wanted.add(subject)
                if seen.index not in memory.asked_again[-1:]:
                    memory.asked_again.append(seen.index)
            if any(_POINTING_RULES.get(strike.rule) == subject[:4] for strike in self._strikes_on(latest)):
                memory.wanted.add(subject)
            if before is not None and subject in memory.wanted:
                self.changed_at.add(before.index)
        self._subjects_at.setdefault(seen.index, []).extend(subjects)

    def is_asked_for_again(self, subject: str, before: _Result, latest: _Result) -> bool:
        """Whether the earlier result was struck when the agent asked: for a file, changed since or not, or by a call that gave
        the same words. A call that gives others was made to see what is new."""
        made_before, _ = self._state.stored_under(latest.index)
        was_struck = any(strike.number < made_before for strike in self._strikes_on(before))
        return was_struck and (subject.startswith("file") or before.digest == latest.digest)

    def _subjects(self, seen: Seen) -> list[str]:
        """The call and the files it reads, as subjects."""
        fingerprint = call_fingerprint(seen.call) if seen.call is not None else None
        paths = sorted(read_paths(seen, self._root, shell_reads=True))
        return [
            *([f"call {fingerprint.hex()[:_CALL_LETTERS]}"] if fingerprint is not None else []),
            *(f"file {path}" for path in paths),
        ]

    def _lost(self) -> Iterator[tuple[_BackPointer, list[Strike]]]:
        """The back pointers that lead to no words, and the strikes on the results that they point to."""
        for back in self.memory.back:
            strikes = [one for one in self._strikes_on(back.pointed) if one.rule not in _READABLE]
            if (strikes or back.is_hidden) and not self._strikes_on(back):
                yield back, strikes

    def _may_strike(self, back: _BackPointer) -> bool:
        state = self._state
        return back.index not in state.pins and (GIVEN_BACK, back.index, back.at) not in state.undone

    def _strikes_on(self, result: "_Result | _BackPointer") -> list[Strike]:
        """The strikes in force on a result, or on what it is in, but for those that only make it smaller."""
        strikes = self._state.strikes_on(result.index)
        return [one for one in strikes if result.at[: len(one.at)] == one.at and not one.is_fold]

    def _words_of(self, result: _Result) -> str | None:
        """The words of a result; None if it holds anything else."""
        part = next((one for one in self._state.current(result.index).parts if one.at == result.at), None)
        if not isinstance(part, ToolResult) or not part.parts or not all(isinstance(one, Text) for one in part.parts):
            return None
        return part.text
