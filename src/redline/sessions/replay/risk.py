"""What a policy put at risk: parts that were struck, and that the agent then came back to.

Both signs are in the recording itself: it reads a file again that has not changed, or it says a line that is in a struck
part and in nothing it still sees. The recorded agent saw everything; under the policy it would not have.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import compress, islice
from operator import not_
from typing import Literal

import msgspec

from redline.record.blobs.whole_results import names_whole_results, whole_name
from redline.redaction import redact_text
from redline.rules.facts import Facts, Seen
from redline.rules.observations import AUTO_OBSERVATIONS
from redline.rules.results import KINDS, ResultKind, kind_of_actions, read_paths
from redline.rules.worth_words import LONG_CHARS
from redline.sessions.replay.history import PastStrike, SessionHistory, grouped
from redline.values.messages import Part, Reasoning, Text, ToolCall, ToolResult
from redline.values.payloads import Path, canonical

Measure = Literal["quoted", "strict"]
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
    said: tuple[str, ...] = ()
    """All the lines or words that it had from there; none of what it read again."""


@dataclass(frozen=True, slots=True)
class Risk:
    """How many strikes took away what was used later, and how many requests needed it."""

    strikes: int = 0
    requests: int = 0
    rereads: tuple[tuple[int, float], ...] = ()
    """At worst the agent asks again, unless it did anyway: in which request, for how many tokens."""
    missed: frozenset[Holder] = field(default=frozenset(), compare=False)
    """What those strikes took away."""
    misses: dict[int, Use] = field(default_factory=dict, compare=False)
    """By the number of each of those strikes, the first use of what it took away."""


def seen_in(history: SessionHistory) -> list[list[Seen]]:
    """By message, what is known of its parts when it is first sent. A new view is looked at anew."""
    found: list[list[Seen]] = [[] for _ in range(history.count)]
    facts, shown = Facts(observations=AUTO_OBSERVATIONS), 0
    for request in history.requests:
        if request.is_new_view:
            facts = Facts(observations=AUTO_OBSERVATIONS)
        for index in history.new_in(request):
            found[index] = facts.add(index, history.load(index))
            shown = max(shown, index + 1)
    for index in range(shown, history.count):
        found[index] = facts.add(index, history.load(index))
    return found


def uses_in(history: SessionHistory, seen: Sequence[list[Seen]] | None = None) -> tuple[Use, ...]:
    """Where the agent came back to what it had been shown, view by view; `seen` is what is known of each message."""
    seen = seen_in(history) if seen is None else seen
    said = {
        index: dict.fromkeys(line for part in history.load(index).parts for line in _lines(part)) for index in _answers(history)
    }
    every_line = frozenset(line for lines in said.values() for line in lines)
    calls = (call for index in said for call in history.load(index).calls)
    named = frozenset(name for call in calls for name in _whole_results_in(call))
    return _uses_by_view(history, lambda: _Quoted(history, seen, said, every_line, named))


def strict_uses_in(
    history: SessionHistory, seen: Sequence[list[Seen]] | None = None, *, drops_messages: bool = False
) -> tuple[Use, ...]:
    """Where an answer uses distinctive words that are in parts that may be struck, and in nothing else since a compaction.

    A name, a path, a number is used without its line being quoted, so that this finds several times as much as `uses_in`.
    Results, reasoning and the long inputs of calls may be struck. Words of the user or the assistant, and calls with a short
    input, are taken to be visible from then on: rules hardly ever strike those. `drops_messages`: a policy that drops whole
    messages, so that all words are had from parts that may go.
    """
    seen = seen_in(history) if seen is None else seen
    said = dict[int, dict[bytes, None]]()
    for index in _answers(history):
        words = (word for part in history.load(index).parts for word in _words(texts_of(part)))
        said[index] = dict.fromkeys(word for word in words if _DISTINCTIVE.fullmatch(word))
    every_word = frozenset(word for found in said.values() for word in found)
    return _uses_by_view(history, lambda: _Told(history, seen, said, every_word, drops_messages))


def _answers(history: SessionHistory) -> set[int]:
    return {index for request in history.requests for index in history.answers_to(request)}


def _uses_by_view(history: SessionHistory, new_window: Callable[[], "_Quoted | _Told"]) -> tuple[Use, ...]:
    """What a window finds in each answer of what was shown before; a new view begins a new window."""
    uses, window = list[Use](), new_window()
    for request in history.requests:
        if request.is_new_view:
            window = new_window()
        for index in history.new_in(request):
            window.show(index)
        for answer in history.answers_to(request):
            uses += [Use(request.number, *found) for found in window.used_by(answer)]
    return tuple(uses)


def risk_of(history: SessionHistory, uses: Sequence[Use], strikes: Sequence[PastStrike]) -> Risk:
    """What the strikes put at risk: uses of which every source was struck by then."""
    missed, requests, restored, rereads = set[Holder](), set[int](), set[Holder](), list[tuple[int, float]]()
    misses: dict[int, Use] = {}
    for use, struck in _missing(uses, strikes_by_part(history, strikes), history):
        missed |= struck.keys()
        requests.add(use.request)
        if not use.is_read_again and restored.isdisjoint(struck):
            rereads.append((use.request, min(strike.tokens_saved for strike in struck.values())))
        restored |= struck.keys()
        for number in sorted(strike.number for strike in struck.values()):
            misses.setdefault(number, use)
    return Risk(len(missed), len(requests), tuple(rereads), frozenset(missed), misses)


def strikes_by_part(history: SessionHistory, strikes: Iterable[PastStrike]) -> dict[Holder, list[PastStrike]]:
    """The strikes on each part; one inside a result takes the result away."""

    def place_of(strike: PastStrike) -> Path:
        results = history.load(strike.index).results
        return next((one.at for one in results if strike.at[: len(one.at)] == one.at), strike.at)

    return grouped(((strike.index, place_of(strike)), strike) for strike in strikes)


def _missing(
    uses: Iterable[Use], by_part: dict[Holder, list[PastStrike]], history: SessionHistory
) -> Iterator[tuple[Use, dict[Holder, PastStrike]]]:
    """The uses of which every source was struck by then, each with the strikes, by the part or message that they are on."""
    for use in uses if by_part else ():
        found: dict[Holder, PastStrike] = {}
        for holder in use.holders:
            on_it = ((key, one) for key in (holder, (holder[0], ())) for one in by_part.get(key, ()))
            in_force = ((key, one) for key, one in on_it if one.is_in_force(use.request))
            hidden_by = next(((key, one) for key, one in in_force if _takes_away(one, use, history)), None)
            if hidden_by is None:
                break
            found[hidden_by[0]] = hidden_by[1]
        else:
            yield use, found


def _takes_away(strike: PastStrike, use: Use, history: SessionHistory) -> bool:
    """Whether a strike took away what was used. A fold took away only lines that are not in sight, until they are read; who
    then read the whole needed them. A path may have to be put together from its folder and its name."""
    if not strike.is_fold or (strike.is_partial and use.is_read_again):
        return True
    if not strike.is_partial:
        return False
    results = (result for result in history.load(strike.index).results if result.at != strike.at)
    beside = (part.text for result in results for part in result.parts if isinstance(part, Text) and part.at != strike.at)
    sources = (history.load(reference.index) for reference in strike.refers)
    referred = (text for source in sources for part in source.walk() for text in texts_of(part))
    left = "\n".join([str(strike.replacement), *beside, *referred])
    return not all(said in left or all(name in left for name in said.split("/")) for said in use.said)


@dataclass
class _Quoted:
    """What was sent since a compaction: which parts hold a line, and which reads gave which text."""

    history: SessionHistory
    seen: Sequence[list[Seen]]
    said: dict[int, dict[str, None]]
    every_line: frozenset[str]
    named: frozenset[str]
    """The whole results that some answer reads."""
    lines: defaultdict[str, set[Holder]] = field(default_factory=lambda: defaultdict(set))
    reads: defaultdict[tuple[str, bytes, str], set[Holder]] = field(default_factory=lambda: defaultdict(set))
    wholes: defaultdict[str, set[Holder]] = field(default_factory=lambda: defaultdict(set))

    def show(self, index: int) -> None:
        """A message has been sent."""
        for part in (one.part for one in self.seen[index]):
            for line in self.every_line.intersection(_lines(part)):
                self.lines[line].add((index, part.at))
            for text in part.parts if self.named and isinstance(part, ToolResult) else ():
                if isinstance(text, Text) and (name := whole_name(text.text)) in self.named:
                    self.wholes[name].add((index, part.at))
        for seen in self.seen[index]:
            paths = read_paths(seen, self.history.project_root, shell_reads=True)
            if seen.result is not None and seen.call is not None and paths:
                self.reads[_read_key(seen.call, seen.result)].add((index, seen.part.at))

    def used_by(self, answer: int) -> Iterator[tuple[frozenset[Holder], bool, str, tuple[str, ...]]]:
        """The sets of parts that hold its lines, each with the first line; then the reads that gave what it reads again."""
        held = ((self.lines.get(line), line) for line in self.said[answer])
        quoted = grouped((frozenset(holders), line) for holders, line in held if holders)
        yield from ((parts, False, lines[0][:_SHOWN_CHARS], tuple(lines)) for parts, lines in quoted.items())
        history = self.history
        for asked in history.load(answer).calls if self.wholes else ():
            for name in _whole_results_in(asked) & self.wholes.keys():
                yield frozenset(self.wholes[name]), True, f"{asked.name} {canonical(asked.input).decode()}"[:_SHOWN_CHARS], ()
        calls = {call.id: call for call in history.load(answer).calls if call.id is not None}
        for later in range(answer + 1, min(answer + 2 + 2 * len(calls), history.count)):
            for seen in self.seen[later]:
                call = seen.call if seen.asked is not None and seen.asked.index == answer else None
                if seen.result is not None and call is not None and (holders := self.reads.get(_read_key(call, seen.result))):
                    yield frozenset(holders), True, f"{call.name} {canonical(call.input).decode()}"[:_SHOWN_CHARS], ()


def _whole_results_in(call: ToolCall) -> set[str]:
    """The whole results that a call names, by their digits: it asks for lines that were left out of what it was sent."""
    return set().union(*map(names_whole_results, _strings(call.arguments)))


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


# --- the strict measure

_WORD_BYTES = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./-")
_SPACED = bytes(byte if byte in _WORD_BYTES else ord(" ") for byte in range(256))
_EDGES = b"./-"
"""At either end of a word these are punctuation, or a matter of spelling (`./a.py`)."""
_DISTINCTIVE = re.compile(rb"(?=.*[\d_/.]|.+[A-Z]).{5,120}", re.DOTALL)
_SHOWN_WORDS = 3
_MOST_HOLDERS = 64
"""Of the parts that hold a word, the first and the latest are remembered: old ones are struck first, and all holders at every
use would be the square of the session."""


@dataclass
class _Told:
    """What a window has told the model: the words that are visible for good, and the parts that hold the others."""

    history: SessionHistory
    seen: Sequence[list[Seen]]
    said: dict[int, dict[bytes, None]]
    every_word: frozenset[bytes]
    """Only words that some answer uses are looked for."""
    drops_messages: bool
    """Nothing is visible for good."""
    visible: set[bytes] = field(default_factory=set)
    holders: defaultdict[bytes, dict[Holder, None]] = field(default_factory=lambda: defaultdict(dict))

    def show(self, index: int) -> None:
        """A message is sent."""
        for part in (one.part for one in self.seen[index]):
            kept, lost = ((), texts_of(part)) if self.drops_messages else _texts_by_fate(part)
            in_sight = self.every_word.intersection(_words(kept))
            self.visible |= in_sight
            for word in in_sight:
                self.holders.pop(word, None)
            for word in self.every_word.intersection(_words(lost)) - self.visible:
                held = self.holders[word]
                held[index, part.at] = None
                if len(held) > _MOST_HOLDERS:
                    del held[next(islice(held, 1, None))]

    def used_by(self, answer: int) -> Iterator[tuple[frozenset[Holder], bool, str, tuple[str, ...]]]:
        """The parts that an answer has its words from, with a few of the words."""
        held = ((self.holders.get(word), word) for word in self.said[answer] if word not in self.visible)
        for sources, found in grouped((frozenset(holders), word) for holders, word in held if holders).items():
            words = tuple(word.decode() for word in found)
            yield sources, False, ", ".join(words[:_SHOWN_WORDS]), words


def _texts_by_fate(part: Part) -> tuple[Iterable[str], Iterable[str]]:
    """The texts of a part that hardly any rule strikes, and the texts that may be struck."""
    match part:
        case ToolResult() | Reasoning():
            return (), (part.text,)
        case ToolCall():
            texts = tuple(texts_of(part))
            is_long = [len(text) >= LONG_CHARS for text in texts]
            return compress(texts, map(not_, is_long)), compress(texts, is_long)
    return texts_of(part), ()


def _words(texts: Iterable[str]) -> Iterator[bytes]:
    """All words of texts, each once. Characters beyond ASCII separate them, as in the line numbers `12→` of some tools."""
    for text in texts:
        found = dict.fromkeys(text.encode("utf-8", "replace").translate(_SPACED).split())
        yield from (word.strip(_EDGES) for word in found)


_READ_CHARS = 2_000
"""So much of a part is looked at for its first words: enough to tell a secret at their end from its first characters."""
_SHOWN_WORDS_CHARS = 120


class KindRisk(msgspec.Struct, frozen=True, gc=False):
    """How many parts of a kind were struck or lost lines to a fold, and how many of these were used later, by each measure."""

    strikes: int = 0
    quoted: int = 0
    strict: int = 0


def kinds_in(seen: Sequence[Sequence[Seen]]) -> dict[Holder, ResultKind]:
    """The kind of each tool result; a message that is struck as a whole has that of its first result."""
    kinds: dict[Holder, ResultKind] = {}
    for place, parts in enumerate(seen):
        for one in parts:
            if isinstance(one.part, ToolResult):
                kind = kind_of_actions(one.actions)
                kinds[place, one.part.at] = kind
                kinds.setdefault((place, ()), kind)
    return kinds


def kind_risks(
    kinds: Mapping[Holder, ResultKind], by_part: Mapping[Holder, Sequence[PastStrike]], *, quoted: Risk, strict: Risk
) -> dict[ResultKind, KindRisk]:
    """Each kind of which something was struck, by the strikes on each part. What is no result of a tool counts as other."""
    struck = Counter(kinds.get(part, "other") for part, strikes in by_part.items() for one in strikes if one.may_be_missed)
    used = [Counter(kinds.get(key, "other") for key in risk.missed) for risk in (quoted, strict)]
    return {kind: KindRisk(struck[kind], *(one[kind] for one in used)) for kind in KINDS if struck[kind]}


def summed_kinds(found: Iterable[Mapping[ResultKind, KindRisk]]) -> dict[ResultKind, KindRisk]:
    """Many sessions together; every kind is there."""
    sums = dict.fromkeys(KINDS, KindRisk())
    for kinds in found:
        for kind, risk in kinds.items():
            known = sums[kind]
            sums[kind] = KindRisk(known.strikes + risk.strikes, known.quoted + risk.quoted, known.strict + risk.strict)
    return sums


# --- place by place


class UsedPlace(msgspec.Struct, frozen=True):
    """A part that was struck, and that a later answer used. Requests are counted from 1, messages from 0; without secrets."""

    message: int
    at: Path | None
    """The part of the message; None for all of it."""
    tool: str | None
    kind: ResultKind
    first_words: str
    """How what was struck begins, in one line."""
    struck_in: int
    """The first request that was sent without it."""
    used_in: int
    """The first request whose answer used it."""
    measure: Measure
    words: str
    """What was used: a line or a call by the measure `quoted`, a few words by `strict`."""


class PolicyPlaces(msgspec.Struct, frozen=True):
    """A session under one policy: how many parts were struck or lost lines to a fold, and those that were used later."""

    policy: str
    strikes: int
    used: tuple[UsedPlace, ...]
    """By each measure, each part at its first use, in the order of the requests that used them."""


def places_of(
    seen: Sequence[Sequence[Seen]],
    policy: str,
    strikes: Iterable[PastStrike],
    misses: Mapping[Measure, Mapping[int, Use]],
) -> PolicyPlaces:
    """The places where parts that a policy struck were used."""
    struck = {strike.number: strike for strike in strikes}
    found = []
    for measure, uses in misses.items():
        for number, use in uses.items():
            strike = struck[number]
            parts = [one for one in seen[strike.index] if not strike.at or strike.at[: len(one.part.at)] == one.part.at]
            result = next((one for one in parts if one.result is not None), parts[0])
            text = "\n".join(text for one in parts for text in texts_of(one.part))
            place = UsedPlace(
                message=strike.index,
                at=strike.at or None,
                tool=result.tool,
                kind=kind_of_actions(result.actions),
                first_words=_shown(text[:_READ_CHARS]),
                struck_in=strike.first + 1,
                used_in=use.request + 1,
                measure=measure,
                words=_shown(use.words),
            )
            found.append(place)
    count = sum(one.may_be_missed for one in struck.values())
    return PolicyPlaces(policy, count, tuple(sorted(found, key=lambda place: (place.used_in, place.message))))


def _shown(text: str) -> str:
    words = " ".join(redact_text(text).split())
    return words if len(words) <= _SHOWN_WORDS_CHARS else words[: _SHOWN_WORDS_CHARS - 1] + "…"
