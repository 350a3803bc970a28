"""Messages, parts, requests and strikes of a session as plain values, for the page and for `--json`."""

import base64
import binascii
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from redline.engine.engine import Engine
from redline.engine.fold_words import deed_of, fate_of_words, reference_words
from redline.engine.project import RequestContext
from redline.errors import ValidationError
from redline.policy.policy import Policy
from redline.providers import find_format
from redline.providers.usage import Usage
from redline.record.reading import ReadOnlyLog, StoredLog
from redline.record.records import Strike, StrikesApplied
from redline.record.timeline import RecordTree, Timeline
from redline.repair import STRATEGIES, Change, Strategy
from redline.schedules import Eager
from redline.sessions.playback import PartSpot, Playback
from redline.sessions.replay.history import PastRequest, PastStrike, SessionHistory, grouped
from redline.sessions.words import call_words, edit_lines, first_words
from redline.tokens import Estimate
from redline.values import payloads
from redline.values.messages import Media, Message, Opaque, Part, Reasoning, Text, ToolCall, ToolResult
from redline.values.payloads import Path

_TITLE_MESSAGES = 20
"""Messages in which the first words of the user are looked for."""
LONGEST_TEXT = 20_000
"""Characters of a part that are shown at once."""
PICTURES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
"""What a browser draws and that cannot hold a script."""
KINDS: dict[type[Part], str] = {
    Text: "text",
    Reasoning: "reasoning",
    ToolCall: "call",
    ToolResult: "result",
    Media: "media",
    Opaque: "other",
}
_STRIKE_FIELDS = (
    *("number", "index", "rule", "because", "why_now", "tokens_before", "tokens_after", "tool"),
    *("first", "end", "chance", "used_at", "used_words", "is_fold", "is_partial"),
)
_MOST_DIFF_LINES = 2_000


def part_key(at: Path) -> str:
    """A part's place as text: `content.0`."""
    return ".".join(map(str, at))


def part_named(message: Message, key: str) -> Part | None:
    """The part at a place that is given as text; None if there is none."""
    return next((part for part in message.walk() if part_key(part.at) == key), None)


def part_text(part: Part) -> str:
    """What a part says."""
    match part:
        case Text() | Reasoning() | ToolResult():
            return part.text
        case ToolCall():
            return _pretty(part.input)
        case Media():
            return part.source if part.source_type == "text" else ""
        case Opaque():
            return _pretty(part.native)


def picture_of(part: Part) -> bytes | None:
    """The bytes of a picture that a browser may draw; None for anything else."""
    if not isinstance(part, Media) or part.source_type != "base64" or part.media_type not in PICTURES:
        return None
    try:
        return base64.b64decode(part.source.partition("base64,")[2] or part.source, validate=True)
    except (binascii.Error, ValueError):
        return None


def message_to_json(playback: Playback, index: int, *, longest: int | None = LONGEST_TEXT) -> dict[str, Any]:
    """A message of a history with everything that is known of it; of each part so many characters, or all."""
    history = playback.history
    message = history.load(index)
    sizes = {part.at: part.tokens for part in playback.player.sizes_of(index)}
    parts = []
    for part in message.parts:  # pictures in a result follow it; its words are shown as the result
        parts.append({**part_to_json(playback, index, part, longest), "tokens": sizes.get(part.at, 0)})
        inside = part.parts if isinstance(part, ToolResult) else ()
        parts += [part_to_json(playback, index, one, longest) for one in inside if isinstance(one, Media)]
    request = history.request_of(index, message.role)
    made = history.requests[request] if request is not None and message.role == "assistant" else None
    return {
        "index": index,
        "role": message.role,
        "time_ms": history.times[index],
        "tokens": sum(sizes.values()),
        "model": history.models.get(index) or (made.model if made is not None else None),
        "usage": usage_to_json(made.usage) if made is not None and made.end == index else None,
        "is_error": any(isinstance(part, ToolResult) and part.is_error for part in message.parts),
        "request": request,
        "is_pinned": index in history.pins,
        "parts": parts,
    }


def part_to_json(playback: Playback, index: int, part: Part, longest: int | None = LONGEST_TEXT) -> dict[str, Any]:
    """One part: its kind and its words, what it is a call or a result of, and the strikes on it."""
    picture = picture_of(part)
    parts, spot = playback.player.parts, PartSpot(index, part.at)
    call = parts.calls.get(spot)
    pair = parts.results.get(spot) or (call[0] if call is not None else None)
    on_it = [strike for strike in playback.by_index.get(index, ()) if is_on(strike.at, part.at)]
    return {
        **_plain_part(part, longest),
        "tool": parts.tool_of(index, part),
        "image": {"bytes": len(picture)} if picture is not None else None,
        "pair": {"index": pair.index, "at": part_key(pair.at)} if pair is not None else None,
        "strikes": [strike.number for strike in on_it],
        "folds": [strike.number for strike in on_it if strike.is_fold],
    }


def plain_parts(message: Message) -> list[dict[str, Any]]:
    """The parts of a message that is in no history."""
    return [_plain_part(part, LONGEST_TEXT) for part in message.parts]


def _plain_part(part: Part, longest: int | None) -> dict[str, Any]:
    text = part_text(part)
    is_call = isinstance(part, ToolCall)
    lines = edit_lines(part) if isinstance(part, ToolCall) else None
    return {
        "at": part_key(part.at),
        "kind": KINDS[type(part)],
        "text": "" if is_call else text[:longest],
        "length": len(text),
        "tool": getattr(part, "name", None),
        "call_id": getattr(part, "id", None) or getattr(part, "call_id", None),
        "input": text[:longest] if is_call else None,
        "says": call_words(part) if isinstance(part, ToolCall) else None,
        "diff": lines if lines is None else lines[:_MOST_DIFF_LINES],
        "is_error": isinstance(part, ToolResult) and part.is_error,
        "media_type": part.media_type if isinstance(part, Media) else None,
        "image": None,
        "pair": None,
        "strikes": [],
        "folds": [],
        "tokens": 0,
    }


def whole_part(playback: Playback, index: int, part: Part) -> dict[str, Any]:
    """All that a part says, what is sent in its place if it is struck, and its own JSON."""
    message = playback.history.load(index)
    native = payloads.value_at(payloads.decode(message.native), part.at) if part.at else payloads.decode(message.native)
    found: dict[str, Any] = {"text": part_text(part), "native": _pretty(native)}
    strike = next((one for one in reversed(playback.by_index.get(index, ())) if is_on(one.at, part.at)), None)
    if strike is not None:
        found["sent"] = replacement_text(strike.replacement)
    return found


def folded_text(part: Part, in_force: Sequence[Strike]) -> str | None:
    """All that a part says as it is sent with the strikes on it, if they only fold it; else None."""
    if not in_force or not all(one.is_fold for one in in_force):
        return None
    sent = {one.at: str(one.replacement) for one in in_force}
    texts = [one for one in part.parts if isinstance(one, Text)] if isinstance(part, ToolResult) else []
    if part.at in sent or len(texts) < 2:
        return next(reversed(sent.values()))
    return "\n".join(sent.get(one.at, one.text) for one in texts)


def is_on(struck: Path, part: Path) -> bool:
    """Whether a strike is on a part, or on something in it."""
    return struck[: len(part)] == part if len(part) <= len(struck) else part[: len(struck)] == struck


def usage_to_json(usage: Usage | None) -> dict[str, int] | None:
    """What the provider reported."""
    kinds = ("input", "output", "cache_read", "cache_write")
    return {kind: getattr(usage, f"{kind}_tokens") for kind in kinds} if usage is not None else None


def replacement_text(replacement: object) -> str | None:
    """What is sent in the place of a part, as text; None if nothing is."""
    return None if replacement is None else _pretty(replacement)


def _pretty(value: object) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    return json.dumps(value, indent=2, ensure_ascii=False, default=str)


def made_request(playback: Playback, number: int) -> PastRequest:
    """A request by its number; a ValidationError where there is none."""
    made = playback.history.requests
    if not 0 <= number < len(made):
        raise ValidationError(f"There is no request {number}; there are {len(made)}, numbered from 0.")
    return made[number]


def request_numbers(playback: Playback, number: int) -> dict[str, Any]:
    """One request in numbers."""
    made = made_request(playback, number)
    size, cold = playback.sizes[number], playback.why_cold(number)
    charge = playback.charges[number]
    bill = None if playback.is_hypothetical else playback.cost_of(number)
    return {
        "number": number,
        "of": len(playback.history.requests),
        "time_ms": made.time_ms or None,
        "model": made.model,
        "end": made.end,
        "visible": made.visible,
        "messages": sum(end - start for start, end in made.visible),
        "sent_tokens": round(size.sent),
        "struck_tokens": size.saved.struck,
        "folded_tokens": size.saved.folded,
        "prefix_tokens": round(playback.player.sizes.prefix),
        "by_kind": {kind: round(tokens) for kind, tokens in size.by_kind.items()},
        "usage": usage_to_json(made.usage),
        "cost_usd": bill.paid if bill is not None else playback.player.usd(charge.cost),
        "is_paid": bill is not None,
        "saved_usd": bill.saved if bill is not None else None,
        "read_tokens": made.usage.cache_read_tokens if bill is not None and made.usage is not None else round(charge.read),
        "is_cold": bool(cold),
        "cold_because": cold,
    }


def request_to_json(playback: Playback, number: int, log: StoredLog | None) -> dict[str, Any]:
    """One request in numbers, with the strikes in it and what the repair did."""
    numbers, in_force = request_numbers(playback, number), playback.in_force(number)
    exact = repairs_of(playback, number, log)
    return {
        **numbers,
        "strikes": [strike.number for strike in in_force],
        "folds": [strike.number for strike in in_force if strike.is_fold],
        "new": [strike.number for strike in in_force if strike.first == number],
        "repairs": [{"index": change.index, "what": change.what} for change in exact.repairs],
        "repaired": [
            {"after": one.after, "message": {"role": one.message.role, "parts": plain_parts(one.message)}}
            for one in exact.repaired
        ],
    }


@dataclass(frozen=True, slots=True)
class RepairMade:
    """A message that is not of the record as it is."""

    after: int
    """The index that it follows; -1 at the beginning."""
    message: Message
    origins: tuple[int, ...] = ()
    """The messages of the record that it takes the place of; none if it was added."""


@dataclass(frozen=True, slots=True)
class ExactRequest:
    """The difference between what is visible in a request and what was sent, strikes apart."""

    repairs: tuple[Change, ...] = ()
    repaired: tuple[RepairMade, ...] = ()
    unsent: frozenset[int] = frozenset()
    """Messages of the record that are visible, and not sent as they are."""
    body: bytes = b""
    """The messages as they were sent, one JSON list."""


def exact_request(log: StoredLog, history: SessionHistory, number: int) -> ExactRequest:
    """A request worked out again from the records that it was made on, with no rule that could strike anything more."""
    record = history.requests[number].record
    timeline = Timeline(RecordTree(ReadOnlyLog(log.records)), record)
    engine = Engine(timeline, find_format(history.format), Estimate())
    earlier = log.records[: 0 if record is None else record + 1]
    decided = next((one.record for one in reversed(earlier) if isinstance(one.record, StrikesApplied)), None)
    strategy: Strategy = next((one for one in STRATEGIES if decided is not None and one == decided.strategy), "drop")
    made = engine.preview(
        Policy(strategy=strategy).settings(rules=()), RequestContext(history.requests[number].time_ms, Eager())
    )
    repaired, after, sent_as_said = list[RepairMade](), -1, set[int]()
    for sent in made.sent:
        if isinstance(sent.piece, int):
            after = sent.piece
            sent_as_said.add(after)
        elif sent.message is not None:
            origins = tuple(origin.index for origin in sent.piece.origins)
            repaired.append(RepairMade(after, sent.message, origins))
            after = max([after, *origins])
    unsent = frozenset(history.requests[number].indices) - sent_as_said
    return ExactRequest(made.repairs, tuple(repaired), unsent, made.body)


def repairs_of(playback: Playback, number: int, log: StoredLog | None) -> ExactRequest:
    """What the repair did. Agents repair their own histories, and say nothing of it."""
    made_request(playback, number)  # is there one?
    if log is None or playback.is_hypothetical:
        return ExactRequest((), ())
    return exact_request(log, playback.history, number)


def strike_to_json(playback: Playback, one: PastStrike, *, is_undoable: bool) -> dict[str, Any]:
    """A strike with its reason and its price; of a fold also its references, and all that its part says as it is sent."""
    part = next((part for part in playback.history.load(one.index).parts if is_on(one.at, part.at)), None)
    sent = None
    if one.is_fold and part is not None:
        folds = (other for other in playback.by_index[one.index] if other.is_fold and is_on(other.at, part.at))
        sent = folded_text(part, [other for other in folds if other.is_in_force(one.first)])
    return {
        **{name: getattr(one, name) for name in _STRIKE_FIELDS},
        "at": part_key(one.at),
        "replacement": replacement_text(one.replacement),
        "does": deed_of(one),
        "fate": fate_of_words(one) if one.is_fold else "",
        "sent_text": sent if sent != one.replacement else None,
        "refers": [
            {"index": reference.index, "at": part_key(reference.at), "says": says}
            for reference, says in zip(one.refers, reference_words(one), strict=True)
        ],
        "ended_because": one.ended_because if one.end is not None else "",
        "requests": playback.requests_with(one),
        "saved_usd": playback.saved_by(one),
        "rewrite_tokens": playback.rewritten(one.first) if one.first < len(playback.history.requests) else 0,
        "is_undoable": is_undoable,
    }


def sums_by_rule(strikes: Iterable[PastStrike]) -> dict[str, dict[str, int]]:
    """How many strikes or folds each rule made, and the tokens that they take out of every request."""
    rules: dict[str, dict[str, int]] = {}
    for one in strikes:
        row = rules.setdefault(one.rule, {"count": 0, "tokens": 0})
        row["count"] += 1
        row["tokens"] += one.tokens_saved
    return rules


def history_to_facts(history: SessionHistory) -> dict[str, Any]:
    """The agent, the project, the times, and how much was said in a conversation."""
    times = [time for time in history.times if time is not None]
    return {
        "agent": history.agent,
        "format": history.format,
        "project": history.project_root or None,
        "title": first_words(history.load(index) for index in range(min(history.count, _TITLE_MESSAGES))),
        "model": history.model,
        "started_ms": min(times, default=None),
        "ended_ms": max(times, default=None),
        "messages": history.count,
        "requests": len(history.requests),
        "observed": history.observed,
    }


def sent_indices(playback: Playback, request: int | None) -> Iterable[int]:
    """The indices of a request, in the order in which they are sent; None for everything that was said."""
    if request is None:
        return range(playback.history.count)
    return made_request(playback, request).indices


def messages_to_json(
    playback: Playback, request: int | None, log: StoredLog | None, indices: Iterable[int], *, longest: int | None
) -> Iterator[dict[str, Any]]:
    """Messages of the record, or of a request with its repairs: what the repair changed has `repaired`, in words; what it added
    has no index; what it left out has no parts."""
    if request is None:
        yield from (message_to_json(playback, index, longest=longest) for index in indices)
        return
    exact = repairs_of(playback, request, log)
    what = grouped((change.index, change.what) for change in exact.repairs)
    made: dict[int, list[dict[str, Any]]] = {}
    replaced: set[int] = set()
    for one in exact.repaired:
        replaced.update(one.origins)
        told = "; ".join(dict.fromkeys(chain.from_iterable(what.get(index, ()) for index in one.origins)))
        named = {"index": one.origins[0]} if one.origins else {}
        shown = {**named, "role": one.message.role, "repaired": told or "added", "parts": plain_parts(one.message)}
        made.setdefault(one.origins[0] if one.origins else one.after, []).append(shown)
    for index in chain([-1], indices):
        if index >= 0 and index in exact.unsent - replaced:
            told = "; ".join(what.get(index, ())) or "left out"
            yield {**message_to_json(playback, index, longest=longest), "repaired": told, "parts": []}
        elif index >= 0 and index not in replaced:
            yield message_to_json(playback, index, longest=longest)
        yield from made.get(index, ())
