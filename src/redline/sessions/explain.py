"""Why a part of a conversation is sent or struck, and the notes below a struck part."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from redline.conversation.conversation import Conversation
from redline.engine.fold_words import deed_of, fate_of_words
from redline.policy.policy import Policy
from redline.record.blobs.blobs import MemoryBlobs
from redline.record.reading import ReadOnlyLog, StoredLog
from redline.record.records import Strike
from redline.record.timeline import Timeline
from redline.rules.rule import Mark
from redline.sessions.playback import PartSpot, Playback
from redline.sessions.replay.history import PastStrike
from redline.sessions.replay.under_policy import PolicyRun
from redline.sessions.to_json import KINDS, folded_text, is_on, part_key, part_named, strike_to_json
from redline.sessions.words import call_words
from redline.values.messages import Part, ToolCall, ToolResult
from redline.values.payloads import Path


@dataclass(frozen=True, slots=True)
class PendingMark:
    """A part that a rule would strike, and why it has not happened."""

    index: int
    at: Path
    rule: str
    because: str
    why: str


def waiting_marks(playback: Playback, number: int | None, log: StoredLog | None, policy: Policy) -> list[PendingMark]:
    """What a policy's rules mark in a request, or after the last message, and is not struck there: the engine is asked over the
    records of a log, which are only read, or as the policy would have led the session up to that request."""
    history = playback.history
    if not history.requests:
        return []
    asked, to_come = history.requests[-1 if number is None else number], list[tuple[Mark | Strike, str]]()
    if log is None or playback.is_hypothetical:
        player = playback.player
        made = PolicyRun(policy, player.sizes, player.rule, player.price).request(asked.number)
    else:
        path = Timeline(ReadOnlyLog(log.records)).path(asked.record if number is not None else None)
        talk = Conversation(log=ReadOnlyLog(path), format=history.format, policy=policy, blobs=MemoryBlobs())
        times = [] if number is not None else [time for time in history.times if time is not None]
        made = talk.preview(now=max([*times, asked.time_ms]))
        to_come = [(one, f"the next request would strike it: {one.why_now}") for one in made.new_strikes]
    waiting: list[tuple[Mark | Strike, str]] = [(one.mark, one.why) for one in made.held] + to_come
    waiting += [(one.mark, f"the provider would refuse it: {one.problem.found}") for one in made.refused]
    return [PendingMark(one.index, one.at, one.rule, one.because, why) for one, why in waiting]


PartState = Literal["sent", "folded", "referred", "struck", "hidden", "not sent yet"]


@dataclass(frozen=True, slots=True)
class Situation:
    """What a part is explained in: a playback, one of its requests or the record's end, and what waits there."""

    playback: Playback
    request: int | None
    """None for the end of the record."""
    policy: Policy
    """Whose rules are asked about what is not struck."""
    waiting: Sequence[PendingMark]
    can_undo: bool

    @property
    def number(self) -> int:
        """The request that is meant; -1 if none was made."""
        return len(self.playback.history.requests) - 1 if self.request is None else self.request

    def is_in_force(self, strike: PastStrike) -> bool:
        """Whether a strike counts: in the request, or at the end of the record, where it may have been undone since."""
        return strike.end is None if self.request is None else strike.is_in_force(self.request)


@dataclass(frozen=True, slots=True)
class PartExplanation:
    """One part, where it is, and why."""

    index: int
    at: str
    kind: str
    tool: str | None
    says: str
    """What its call does, for calls and results."""
    tokens: int
    first_request: int | None
    """The first that it is sent in."""
    state: PartState
    strikes: tuple[dict[str, Any], ...]
    """Those in force, as `strike_to_json` gives them."""
    earlier: tuple[dict[str, Any], ...]
    """Those that no longer count."""
    waiting: tuple[PendingMark, ...]
    kept_because: tuple[str, ...]
    """What keeps it from being struck, as far as it is known."""


def explain_part(situation: Situation, index: int, part: Part) -> PartExplanation:
    """Everything that is known of why a part is sent or not."""
    playback, history = situation.playback, situation.playback.history
    message = history.load(index)
    parts = playback.player.parts
    on_it = [one for one in playback.by_index.get(index, ()) if is_on(one.at, part.at)]
    in_force = [one for one in on_it if situation.is_in_force(one)]
    ended = [one for one in on_it if one.end is not None and (situation.request is None or one.end <= situation.request)]
    waiting = tuple(one for one in situation.waiting if one.index == index and is_on(one.at, part.at))
    call = part if isinstance(part, ToolCall) else parts.calls.get(PartSpot(index, part.at), (None, None))[1]
    asked = history.requests[situation.number] if situation.number >= 0 else None
    state: PartState = "sent"
    if in_force:
        is_struck = not all(one.is_fold for one in in_force)
        state = "struck" if is_struck else "referred" if any(one.refers for one in in_force) else "folded"
    if asked is None or index >= asked.end:
        state = "not sent yet"
    elif not asked.shows(index):
        state = "hidden"

    def shown(one: PastStrike) -> dict[str, Any]:
        return strike_to_json(playback, one, is_undoable=situation.can_undo and one.end is None)

    return PartExplanation(
        index=index,
        at=part_key(part.at),
        kind=KINDS[type(part)],
        tool=parts.tool_of(index, part),
        says=call_words(call) if call is not None else "",
        tokens=next((sized.tokens for sized in playback.player.sizes_of(index) if sized.at == part.at), 0),
        first_request=history.request_of(index, "user"),
        state=state,
        strikes=tuple(map(shown, in_force)),
        earlier=tuple(map(shown, ended)),
        waiting=waiting,
        kept_because=tuple(_reasons_kept(situation, index, part, message.role)) if not in_force and not waiting else (),
    )


def _reasons_kept(situation: Situation, index: int, part: Part, role: str) -> Iterator[str]:
    """The certain reasons; `no rule of the policy marks it` always comes last."""
    playback, protection = situation.playback, situation.policy.protection
    tool = playback.player.parts.tool_of(index, part)
    if index in playback.history.pins:
        yield "its message is pinned"
    if protection.errors and isinstance(part, ToolResult) and situation.policy.reports_failure(part, tool):
        yield "it reports a failure, and the policy protects failures"
    if tool is not None and tool in protection.tools:
        yield f"the policy protects the tool {tool}"
    if any(one.ended_because == "it was undone" and is_on(one.at, part.at) for one in playback.by_index.get(index, ())):
        yield "a strike on it was undone, and its rule leaves it alone since"
    if not isinstance(part, ToolCall | ToolResult) and role == "user":
        yield "it is what the user said"
    yield "no rule of the policy marks it"


def deeds_words(strikes: Sequence[PastStrike], *, is_hypothetical: bool) -> str:
    """How many parts were folded and struck, or would be, and the tokens of each: `struck 4 parts (310 tokens)`."""
    would, fold, strike = ("would ", "fold", "strike") if is_hypothetical else ("", "folded", "struck")
    folds, others = ([one for one in strikes if one.is_fold == is_fold] for is_fold in (True, False))
    told = []
    for verb, own in ((fold, folds), (strike, others)):
        if own or (verb == strike and not folds):
            parts = "1 part" if len(own) == 1 else f"{len(own):,} parts"
            told.append(f"{verb} {parts} ({sum(one.tokens_saved for one in own):,} tokens)")
    return would + " and ".join(told)


@dataclass(frozen=True, slots=True)
class StrikeNote:
    """What is said of a strike, or of a fold."""

    says: str
    is_struck: bool
    """Whether the part is struck in what is shown; a strike may have been undone."""
    sent: str | None = None
    """Of a fold: all that its part says as it is sent, in what is shown; None where the part is struck or no longer folded."""


def notes_on(playback: Playback, message: dict[str, Any], request: int | None) -> dict[str, list[StrikeNote]]:
    """The notes on a message as `message_to_json` gives it, by the place of each part: in a request those in force; with None,
    for the record, what became of each."""
    index = message.get("index", -1)
    strikes = [one for one in playback.by_index.get(index, ()) if request is None or one.is_in_force(request)]
    if not strikes:
        return {}

    recorded, found = playback.history.load(index), dict[str, list[StrikeNote]]()
    for shown in message["parts"]:
        part = part_named(recorded, shown["at"])
        on_it = [one for one in strikes if part is not None and is_on(one.at, part.at)]
        if part is not None and on_it:
            sent = folded_text(part, [one for one in on_it if is_struck_at(playback, one, request)])
            found[shown["at"]] = [replace(_note(playback, one, request), sent=sent if one.is_fold else None) for one in on_it]
    return found


def _note(playback: Playback, strike: PastStrike, request: int | None) -> StrikeNote:
    """The rule or the fold, the reason, the tokens, since when, and the number that undoes it."""
    is_present, deed = is_struck_at(playback, strike, request), deed_of(strike) if strike.is_fold else "struck"
    said = f"{strike.rule}: {strike.because}"
    sizes = f"{strike.tokens_before:,} → {strike.tokens_after:,} tokens"
    span = span_words(strike.first, strike.end if request is None or not is_present else None)
    done = f"{deed}: {strike.because}" if strike.is_fold else f"struck by {said}"
    if not is_present:
        says = f"{said}; was {deed} {span}, {sizes}, then sent again: {strike.ended_because}"
    elif playback.is_hypothetical:
        says = f"would be {done}; {sizes} {span}"
    elif playback.history.observed:
        says = f"recorded, but not sent so: {done if strike.is_fold else said}; {sizes} {span}"
    else:
        says = f"{done}; {sizes} {span}" + (f"; undo: {strike.number}" if strike.end is None else "")
    if sources := sorted({reference.index for reference in strike.refers}):
        says += f"; as in message{'s' if len(sources) > 1 else ''} {', '.join(map(str, sources))}"
    if strike.is_fold:
        says += f"; {fate_of_words(strike)}"
    return StrikeNote(says, is_present and not strike.is_fold)


def span_words(first: int, end: int | None) -> str:
    """In which requests a strike is in force."""
    if end is None:
        return f"since request {first}"
    if end - first < 2:
        return f"in request {first}" if end > first else "before any request"
    return f"from request {first} to {end - 1}"


def is_struck_at(playback: Playback, strike: PastStrike, request: int | None) -> bool:
    """Whether a part is struck in a request; for the record, in the last request that its message was in."""
    if request is not None:
        return strike.is_in_force(request)
    requests = playback.history.requests
    if strike.end is None or strike.end >= len(requests):
        return strike.end is None
    return not requests[strike.end].shows(strike.index)
