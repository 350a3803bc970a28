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
from redline.replay.course import Course
from redline.replay.history import PastStrike, SessionHistory
from redline.rules.facts import Facts, Seen
from redline.rules.results import read_paths
from redline.values.messages import Part, Text, ToolCall, ToolResult
from redline.values.payloads import Path, canonical

__all__ = [
    "Holder",
    "Reread",
    "Risk",
    "Use",
    "misses_of",
    "reread_cost",
    "risk_of",
    "seen_in",
    "strikes_by_part",
    "texts_of",
    "uses_in",
]

Holder = tuple[int, Path]
"""A part: its message, its place in it; a message as a whole is at no place in it."""

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


@dataclass(frozen=True, slots=True)
class Risk:
    """How many strikes took away what was used later, and how many requests needed it."""

    strikes: int = 0
    requests: int = 0
    rereads: tuple[Reread, ...] = ()
    """At worst: one for each thing that was said from what was struck, unless it was asked for anyway."""
    missed: frozenset[Holder] = field(default=frozenset(), compare=False)
    """What those strikes took away."""


def seen_in(history: SessionHistory) -> list[list[Seen]]:
    """By message, what is known of its parts when it is first sent. A new view is looked at anew."""
    found: list[list[Seen]] = [[] for _ in range(history.count)]
    facts, shown = Facts(), 0
    for request in history.requests:
        if request.is_new_view:
            facts = Facts()
        for index in history.new_in(request):
            found[index] = facts.add(index, history.load(index))
            shown = max(shown, index + 1)
    for index in range(shown, history.count):
        found[index] = facts.add(index, history.load(index))
    return found


def uses_in(history: SessionHistory, seen: Sequence[list[Seen]] | None = None) -> tuple[Use, ...]:
    """Where the agent came back to what it had been shown, view by view; `seen` is what is known of each message."""
    seen = seen_in(history) if seen is None else seen
    answers = {index for request in history.requests for index in history.answers_to(request)}
    said = {index: dict.fromkeys(line for part in history.load(index).parts for line in _lines(part)) for index in answers}
    every_line = frozenset(line for lines in said.values() for line in lines)
    uses, window = list[Use](), _Window(history, seen, every_line)
    for request in history.requests:
        if request.is_new_view:
            window = _Window(history, seen, every_line)
        for index in history.new_in(request):
            window.show(index)
        for answer in history.answers_to(request):
            quoted = window.quoted(said[answer])
            uses += [Use(request.number, holders, words=line[:_SHOWN_CHARS]) for holders, line in quoted.items()]
            uses += [Use(request.number, holders, True, words) for holders, words in window.read_again_by(answer)]
    return tuple(uses)


def risk_of(history: SessionHistory, uses: Sequence[Use], strikes: Sequence[PastStrike]) -> Risk:
    """What the strikes put at risk: uses of which every source was struck by then."""
    missed, requests, restored, rereads = set[Holder](), set[int](), set[Holder](), list[Reread]()
    for use, struck in _missing(uses, strikes_by_part(history, strikes)):
        missed |= struck.keys()
        requests.add(use.request)
        if not use.is_read_again and restored.isdisjoint(struck):
            rereads.append(Reread(use.request, min(strike.tokens_saved for strike in struck.values())))
        restored |= struck.keys()
    return Risk(len(missed), len(requests), tuple(rereads), frozenset(missed))


def misses_of(history: SessionHistory, uses: Sequence[Use], strikes: Sequence[PastStrike]) -> dict[int, Use]:
    """By the number of each strike that took away what was used later, its first use."""
    first = dict[int, Use]()
    for use, struck in _missing(uses, strikes_by_part(history, strikes)):
        for number in sorted(strike.number for strike in struck.values()):
            first.setdefault(number, use)
    return first


def reread_cost(history: SessionHistory, course: Course, rereads: Iterable[Reread], rule: PriceRule) -> float:
    """One more request for each, in which it is written to the cache, and reading it from there in those that follow."""
    last_of_window, last = dict[int, int](), len(history.requests) - 1
    for request in reversed(history.requests):
        last_of_window[request.number] = last
        last = request.number - 1 if request.is_new_view else last
    cost = 0.0
    for reread in rereads:
        following = last_of_window[reread.request] - reread.request
        once = rule.cost(read=course.requests[reread.request].sent, written=reread.tokens)
        cost += once + following * rule.read * reread.tokens
    return cost


def strikes_by_part(history: SessionHistory, strikes: Iterable[PastStrike]) -> dict[Holder, list[PastStrike]]:
    """The strikes on each part; one inside a result takes the result away."""
    found: dict[Holder, list[PastStrike]] = {}
    for strike in strikes:
        results = history.load(strike.index).results
        at = next((one.at for one in results if strike.at[: len(one.at)] == one.at), strike.at)
        found.setdefault((strike.index, at), []).append(strike)
    return found


def _missing(uses: Iterable[Use], by_part: dict[Holder, list[PastStrike]]) -> Iterator[tuple[Use, dict[Holder, PastStrike]]]:
    """The uses of which every source was struck by then, each with the strikes, by part."""
    for use in uses if by_part else ():
        found: dict[Holder, PastStrike] = {}
        for holder in use.holders:
            hidden_by = _strike_on(holder, by_part, use.request)
            if hidden_by is None:
                break
            found[hidden_by[0]] = hidden_by[1]
        else:
            yield use, found


def _strike_on(holder: Holder, by_part: dict[Holder, list[PastStrike]], request: int) -> tuple[Holder, PastStrike] | None:
    """The strike that hid a part from a request: on the part, or on its whole message."""
    for key in (holder, (holder[0], ())):
        for strike in by_part.get(key, ()):
            if strike.is_in_force(request):
                return key, strike
    return None


class _Window:
    """What was sent since a compaction: which parts hold a line, and which reads gave which text."""

    def __init__(self, history: SessionHistory, seen: Sequence[list[Seen]], said: frozenset[str]) -> None:
        self._history, self._seen, self._said = history, seen, said
        self._lines: defaultdict[str, set[Holder]] = defaultdict(set)
        self._reads: defaultdict[tuple[str, bytes, str], set[Holder]] = defaultdict(set)

    def show(self, index: int) -> None:
        """A message has been sent."""
        for part in self._history.load(index).parts:
            for line in self._said.intersection(_lines(part)):
                self._lines[line].add((index, part.at))
        for seen in self._seen[index]:
            paths = read_paths(seen, self._history.project_root, shell_reads=True)
            if seen.result is not None and seen.call is not None and paths:
                self._reads[_read_key(seen.call, seen.result)].add((index, seen.part.at))

    def quoted(self, lines: Iterable[str]) -> dict[frozenset[Holder], str]:
        """The parts that hold these lines, in their order, each set of parts with the first line that it holds."""
        found: dict[frozenset[Holder], str] = {}
        for line in lines:
            if holders := self._lines.get(line):
                found.setdefault(frozenset(holders), line)
        return found

    def read_again_by(self, answer: int) -> Iterator[tuple[frozenset[Holder], str]]:
        """For each read that a message asks for: the earlier ones that gave just what it then gave, and the call."""
        history = self._history
        calls = {call.id: call for call in history.load(answer).calls if call.id is not None}
        for later in range(answer + 1, min(answer + 1 + 2 * len(calls), history.count)):
            for result in history.load(later).results:
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
