"""What a policy put at risk: parts that were struck, and that the agent then came back to.

Both signs are in the recording itself: it reads a file again that has not changed, or it says a line that stands in a struck
part and in nothing it still sees. The recorded agent saw everything; under the policy it would not have.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import msgspec

from redline.replay.course import Struck
from redline.replay.session import RecordedRequest, Session
from redline.rules.facts import Facts
from redline.rules.results import read_paths
from redline.values.messages import Message, Part, Text, ToolCall, ToolResult
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
    uses, reader = list[Use](), _Reader(session, -1)
    for number, request in enumerate(session.requests):
        if request.start != reader.start:
            reader = _Reader(session, request.start)
        reader.show(request.end)
        uses += reader.uses_of(number, _answers(session, request))
    return tuple(uses)


def risk_of(uses: Sequence[Use], strikes: Sequence[Struck]) -> Risk:
    """What the strikes put at risk: uses of which every source was struck by then."""
    struck: dict[_Key, Struck] = {(strike.position, strike.at): strike for strike in strikes}
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


def _strike_on(holder: Holder, struck: dict[_Key, Struck], request: int) -> _Key | None:
    """The strike that hid a part from a request: on the part, or on its whole message."""
    for key in (holder, (holder[0], None)):
        if key in struck and struck[key].request <= request:
            return key
    return None


class _Reader:
    """Goes through a window and remembers which parts hold a line, and which reads gave which text."""

    def __init__(self, session: Session, start: int) -> None:
        self._session = session
        self.start = self._end = start
        self._facts = Facts()
        self._lines: defaultdict[str, set[Holder]] = defaultdict(set)
        self._reads: defaultdict[tuple[str, bytes, str], set[Holder]] = defaultdict(set)

    def show(self, end: int) -> None:
        """All up to a message has been sent."""
        for place in range(self._end, end):
            self._take(place)
        self._end = end

    def uses_of(self, number: int, answers: Iterable[int]) -> Iterator[Use]:
        for place in answers:
            for line in _said_lines(self._session.messages[place]):
                if holders := self._lines.get(line):
                    yield Use(number, frozenset(holders))
            yield from (Use(number, frozenset(holders), is_read_again=True) for holders in self._rereads_by(place))

    def _take(self, place: int) -> None:
        message = self._session.messages[place]
        for part in message.parts:
            for line in _lines(part):
                self._lines[line].add((place, part.at))
        for seen in self._facts.add(place, message):
            shown = read_paths(seen, self._session.project_root, shell_reads=True)
            if seen.result is not None and seen.call is not None and shown:
                self._reads[_read_key(seen.call, seen.result)].add((place, seen.part.at))

    def _rereads_by(self, place: int) -> Iterator[set[Holder]]:
        """For each read that a message asks for: the earlier ones that gave just what it then gave."""
        calls = {call.id: call for call in self._session.messages[place].calls if call.id is not None}
        for later in self._session.messages[place + 1 : place + 1 + 2 * len(calls)]:
            for result in later.results:
                call = calls.get(result.call_id or "")
                if call is not None and (holders := self._reads.get(_read_key(call, result))):
                    yield holders


def _answers(session: Session, request: RecordedRequest) -> range:
    """What the assistant said to a request."""
    end = request.end
    while end < len(session.messages) and session.messages[end].role == "assistant":
        end += 1
    return range(request.end, end)


def _read_key(call: ToolCall, result: ToolResult) -> tuple[str, bytes, str]:
    return call.name, canonical(call.input), result.text


def _said_lines(message: Message) -> set[str]:
    return {line for part in message.parts for line in _lines(part)}


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
