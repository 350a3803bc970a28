"""What a policy put at risk: parts that were struck, and that the agent then came back to.

Both signs are in the recording itself: it reads a file again that has not changed, or it says a line that is in a struck
part and in nothing it still sees. The recorded agent saw everything; under the policy it would not have.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import msgspec

from redline.replay.course import ReplayStrike
from redline.replay.session import Session
from redline.rules.facts import Facts
from redline.rules.results import read_paths
from redline.values.messages import Part, Text, ToolCall, ToolResult
from redline.values.payloads import Path, canonical

__all__ = ["Reread", "Risk", "Use", "risk_of", "uses_in"]

Holder = tuple[int, Path]
"""A part: its message, its place in it."""

_LEAST_CHARS = 24
"""A shorter line is said by chance."""
_LINE_NUMBER = re.compile(r"^\s*\d+\s*[→|:\t]\s*")
"""What tools write before the lines of a file."""


class Use(msgspec.Struct, frozen=True):
    """In answering a request the agent said something that it had from one of these parts."""

    request: int
    holders: frozenset[Holder]
    is_read_again: bool = False
    """It asked for it once more, so that it had it whatever was struck."""


class Reread(msgspec.Struct, frozen=True, gc=False):
    """What an agent would have to ask for again, because all that it could have had it from was struck."""

    request: int
    tokens: float


@dataclass(frozen=True, slots=True)
class Risk:
    """How many strikes took away what was used later, and how many requests needed it."""

    strikes: int = 0
    requests: int = 0
    rereads: tuple[Reread, ...] = ()
    """At worst: one for each thing that was said from what was struck, unless it was asked for anyway."""


def uses_in(session: Session) -> tuple[Use, ...]:
    """Where the agent came back to what it had been shown, window by window."""
    uses, window = list[Use](), _Window(session, -1)
    for number, request in enumerate(session.requests):
        if request.start != window.start:
            window = _Window(session, request.start)
        window.show(request.end)
        answer = request.end
        while answer < len(session.messages) and session.messages[answer].role == "assistant":
            uses += [Use(number, holders) for holders in window.quoted_in(answer)]
            uses += [Use(number, holders, is_read_again=True) for holders in window.read_again_by(answer)]
            answer += 1
    return tuple(uses)


def risk_of(uses: Sequence[Use], strikes: Sequence[ReplayStrike]) -> Risk:
    """What the strikes put at risk: uses of which every source was struck by then."""
    struck: dict[_Key, ReplayStrike] = {(strike.position, strike.at): strike for strike in strikes}
    missed, requests, restored, rereads = set[_Key](), set[int](), set[_Key](), list[Reread]()
    for use in uses if struck else ():
        taken = [_strike_on(holder, struck, use.request) for holder in use.holders]
        if None in taken:
            continue
        keys = {key for key in taken if key is not None}
        missed |= keys
        requests.add(use.request)
        if not use.is_read_again and restored.isdisjoint(keys):
            rereads.append(Reread(use.request, min(struck[key].saving for key in keys)))
        restored |= keys
    return Risk(len(missed), len(requests), tuple(rereads))


_Key = tuple[int, Path | None]


def _strike_on(holder: Holder, struck: dict[_Key, ReplayStrike], request: int) -> _Key | None:
    """The strike that hid a part from a request: on the part, or on its whole message."""
    for key in (holder, (holder[0], None)):
        if key in struck and struck[key].request <= request:
            return key
    return None


class _Window:
    """What was sent since a compaction: which parts hold a line, and which reads gave which text."""

    def __init__(self, session: Session, start: int) -> None:
        self._session = session
        self.start = self._end = start
        self._facts = Facts()
        self._lines: defaultdict[str, set[Holder]] = defaultdict(set)
        self._reads: defaultdict[tuple[str, bytes, str], set[Holder]] = defaultdict(set)

    def show(self, end: int) -> None:
        """All up to a message has been sent."""
        for place in range(self._end, end):
            message = self._session.messages[place]
            for part in message.parts:
                for line in _lines(part):
                    self._lines[line].add((place, part.at))
            for seen in self._facts.add(place, message):
                paths = read_paths(seen, self._session.project_root, shell_reads=True)
                if seen.result is not None and seen.call is not None and paths:
                    self._reads[_read_key(seen.call, seen.result)].add((place, seen.part.at))
        self._end = end

    def quoted_in(self, place: int) -> Iterator[frozenset[Holder]]:
        """For each line of a message, in its order: the parts that hold it."""
        for line in dict.fromkeys(line for part in self._session.messages[place].parts for line in _lines(part)):
            if holders := self._lines.get(line):
                yield frozenset(holders)

    def read_again_by(self, place: int) -> Iterator[frozenset[Holder]]:
        """For each read that a message asks for: the earlier ones that gave just what it then gave."""
        calls = {call.id: call for call in self._session.messages[place].calls if call.id is not None}
        for later in self._session.messages[place + 1 : place + 1 + 2 * len(calls)]:
            for result in later.results:
                call = calls.get(result.call_id or "")
                if call is not None and (holders := self._reads.get(_read_key(call, result))):
                    yield frozenset(holders)


def _read_key(call: ToolCall, result: ToolResult) -> tuple[str, bytes, str]:
    return call.name, canonical(call.input), result.text


def _lines(part: Part) -> Iterator[str]:
    match part:
        case Text():
            texts: Iterable[str] = (part.text,)
        case ToolCall():
            texts = _strings(part.arguments)
        case ToolResult():
            texts = (part.text,)
        case _:
            texts = ()
    for text in texts:
        for line in text.splitlines():
            plain = _LINE_NUMBER.sub("", line).strip()
            if len(plain) >= _LEAST_CHARS:
                yield plain


def _strings(value: object) -> Iterator[str]:
    """Every text in an input."""
    match value:
        case str():
            yield value
        case dict():
            for inner in value.values():
                yield from _strings(inner)
        case list():
            for inner in value:
                yield from _strings(inner)
