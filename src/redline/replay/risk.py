"""What a policy put at risk: parts that were struck, and that the agent then came back to.

Both signs are in the recording itself: it reads a file again that has not changed, or it says a line that is in a struck
part and in nothing it still sees. The recorded agent saw everything; under the policy it would not have.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import msgspec

from redline.prices import PriceRule
from redline.replay.course import Course, ReplayStrike
from redline.replay.marks import seen_in
from redline.replay.session import RecordedRequest, Session
from redline.rules.facts import Seen
from redline.rules.results import read_paths
from redline.values.messages import Part, Text, ToolCall, ToolResult
from redline.values.payloads import Path, canonical

__all__ = [
    "Holder",
    "Miss",
    "Reread",
    "Risk",
    "StruckKey",
    "Use",
    "misses_of",
    "reread_cost",
    "risk_of",
    "said_after",
    "texts_of",
    "uses_in",
]

Holder = tuple[int, Path]
"""A part: its message, its place in it."""

StruckKey = tuple[int, Path | None]
"""What a strike took away: a message, and the part of it or None for all of it."""

_LEAST_CHARS = 24
"""A shorter line is said by chance."""
_SHOWN_CHARS = 200
"""So much of what was said is kept, to show it."""
_LINE_NUMBER = re.compile(r"^\s*\d+\s*[→|:\t]\s*")
"""What tools write before the lines of a file."""


class Use(msgspec.Struct, frozen=True):
    """In answering a request the agent said something that it had from one of these parts."""

    request: int
    holders: frozenset[Holder]
    is_read_again: bool = False
    """It asked for it once more, so that it had it whatever was struck."""
    words: str = ""
    """What it said, or as much of it as one line shows; of what it read again, the call."""


class Reread(msgspec.Struct, frozen=True, gc=False):
    """What an agent would have to ask for again, because all that it could have had it from was struck."""

    request: int
    tokens: float


class Miss(msgspec.Struct, frozen=True, gc=False):
    """A strike that took away what was used later, at its first use."""

    strike: int
    """Its place among the strikes."""
    request: int
    words: str


@dataclass(frozen=True, slots=True)
class Risk:
    """How many strikes took away what was used later, and how many requests needed it."""

    strikes: int = 0
    requests: int = 0
    rereads: tuple[Reread, ...] = ()
    """At worst: one for each thing that was said from what was struck, unless it was asked for anyway."""
    missed: frozenset[StruckKey] = field(default=frozenset(), compare=False)
    """What those strikes took away."""


def uses_in(session: Session, seen: Sequence[list[Seen]] | None = None) -> tuple[Use, ...]:
    """Where the agent came back to what it had been shown, window by window; `seen` is what is known of each message."""
    seen = seen_in(session) if seen is None else seen
    answers = [place for request in session.requests for place in said_after(session, request)]
    said = {place: dict.fromkeys(line for part in session.messages[place].parts for line in _lines(part)) for place in answers}
    every_line = frozenset(line for lines in said.values() for line in lines)
    uses, window = list[Use](), _Window(session, -1, seen, every_line)
    for number, request in enumerate(session.requests):
        if request.start != window.start:
            window = _Window(session, request.start, seen, every_line)
        window.show(request.end)
        for answer in said_after(session, request):
            uses += [Use(number, holders, words=line[:_SHOWN_CHARS]) for holders, line in window.quoted(said[answer]).items()]
            uses += [Use(number, holders, True, words) for holders, words in window.read_again_by(answer)]
    return tuple(uses)


def said_after(session: Session, request: RecordedRequest) -> Iterator[int]:
    """The messages that answer a request; some agents record an answer in several."""
    place = request.end
    while place < len(session.messages) and session.messages[place].role == "assistant":
        yield place
        place += 1


def risk_of(uses: Sequence[Use], strikes: Sequence[ReplayStrike]) -> Risk:
    """What the strikes put at risk: uses of which every source was struck by then."""
    struck: dict[StruckKey, ReplayStrike] = {(strike.position, strike.at): strike for strike in reversed(strikes)}
    missed, requests, restored, rereads = set[StruckKey](), set[int](), set[StruckKey](), list[Reread]()
    for use, keys in _missing(uses, struck):
        missed |= keys
        requests.add(use.request)
        if not use.is_read_again and restored.isdisjoint(keys):
            rereads.append(Reread(use.request, min(struck[key].saving for key in keys)))
        restored |= keys
    return Risk(len(missed), len(requests), tuple(rereads), frozenset(missed))


def misses_of(uses: Sequence[Use], strikes: Sequence[ReplayStrike]) -> tuple[Miss, ...]:
    """For each strike that took away what was used later: where that was, and the words."""
    struck: dict[StruckKey, ReplayStrike] = {(strike.position, strike.at): strike for strike in reversed(strikes)}
    numbers: dict[ReplayStrike, int] = {strike: number for number, strike in enumerate(strikes)}
    first: dict[int, Miss] = {}
    for use, keys in _missing(uses, struck):
        for number in sorted(numbers[struck[key]] for key in keys):
            first.setdefault(number, Miss(number, use.request, use.words))
    return tuple(first.values())


def reread_cost(session: Session, course: Course, rereads: Iterable[Reread], rule: PriceRule) -> float:
    """One more request for each, in which it is written to the cache, and reading it from there in those that follow."""
    last_of_window = {request.start: number for number, request in enumerate(session.requests)}
    cost = 0.0
    for reread in rereads:
        following = last_of_window[session.requests[reread.request].start] - reread.request
        once = rule.cost(read=course.requests[reread.request].sent, written=reread.tokens)
        cost += once + following * rule.read * reread.tokens
    return cost


def _missing(uses: Iterable[Use], struck: dict[StruckKey, ReplayStrike]) -> Iterator[tuple[Use, set[StruckKey]]]:
    """The uses of which every source was struck by then, each with the strikes."""
    for use in uses if struck else ():
        keys = set[StruckKey]()
        for holder in use.holders:
            key = _strike_on(holder, struck, use.request)
            if key is None:
                break
            keys.add(key)
        else:
            yield use, keys


def _strike_on(holder: Holder, struck: dict[StruckKey, ReplayStrike], request: int) -> StruckKey | None:
    """The strike that hid a part from a request: on the part, or on its whole message."""
    for key in (holder, (holder[0], None)):
        if key in struck and struck[key].request <= request:
            return key
    return None


class _Window:
    """What was sent since a compaction: which parts hold a line, and which reads gave which text."""

    def __init__(self, session: Session, start: int, seen: Sequence[list[Seen]], said: frozenset[str]) -> None:
        self._session, self._seen, self._said = session, seen, said
        self.start = self._end = start
        self._lines: defaultdict[str, set[Holder]] = defaultdict(set)
        self._reads: defaultdict[tuple[str, bytes, str], set[Holder]] = defaultdict(set)

    def show(self, end: int) -> None:
        """All up to a message has been sent."""
        for place in range(self._end, end):
            for part in self._session.messages[place].parts:
                for line in self._said.intersection(_lines(part)):
                    self._lines[line].add((place, part.at))
            for seen in self._seen[place]:
                paths = read_paths(seen, self._session.project_root, shell_reads=True)
                if seen.result is not None and seen.call is not None and paths:
                    self._reads[_read_key(seen.call, seen.result)].add((place, seen.part.at))
        self._end = end

    def quoted(self, lines: Iterable[str]) -> dict[frozenset[Holder], str]:
        """The parts that hold these lines, in their order, each set of parts with the first line that it holds."""
        found: dict[frozenset[Holder], str] = {}
        for line in lines:
            if holders := self._lines.get(line):
                found.setdefault(frozenset(holders), line)
        return found

    def read_again_by(self, place: int) -> Iterator[tuple[frozenset[Holder], str]]:
        """For each read that a message asks for: the earlier ones that gave just what it then gave, and the call."""
        calls = {call.id: call for call in self._session.messages[place].calls if call.id is not None}
        for later in self._session.messages[place + 1 : place + 1 + 2 * len(calls)]:
            for result in later.results:
                call = calls.get(result.call_id or "")
                if call is not None and (holders := self._reads.get(_read_key(call, result))):
                    yield frozenset(holders), f"{call.name} {canonical(call.input).decode()}"[:_SHOWN_CHARS]


def _read_key(call: ToolCall, result: ToolResult) -> tuple[str, bytes, str]:
    return call.name, canonical(call.input), result.text


def texts_of(part: Part) -> Iterable[str]:
    """The words of a part; of a call, those of its input."""
    match part:
        case Text() | ToolResult():
            return (part.text,)
        case ToolCall():
            return _strings(part.arguments)
    return ()


def _lines(part: Part) -> Iterator[str]:
    for text in texts_of(part):
        for line in map(str.strip, text.splitlines()):
            plain = _LINE_NUMBER.sub("", line) if line[:1].isdecimal() else line
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
