"""The page's answers about one session: header, messages, search, requests, records, timeline, actions."""

from collections import Counter as Tally
from collections.abc import Callable, Collection
from itertools import accumulate, pairwise
from typing import Any
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import Response

from redline.cache_breaks.report import BreakSums
from redline.conversation.conversation import Conversation
from redline.conversation.opening import open as open_conversation
from redline.engine.state import runs_of
from redline.errors import ExecutionError, ValidationError
from redline.hooks.accounts import HookSavings, read_hook_accounts
from redline.inspector.guard import InspectorSettings, problem_response
from redline.inspector.opened import PENDING, PlaybackResult
from redline.inspector.session_registry import SessionRegistry
from redline.sessions.catalog.catalog import agent_name
from redline.sessions.lost_caches import lost_caches
from redline.sessions.playback import SYSTEM, Playback
from redline.sessions.read_session import AUTO, SENT
from redline.sessions.record_lines import history_of_log, history_of_transcript, history_to_json
from redline.sessions.request_diff import compare_sides, diff_to_json, side_of_request
from redline.sessions.to_json import (
    KINDS,
    PICTURES,
    history_to_facts,
    message_to_json,
    part_key,
    part_named,
    part_text,
    picture_of,
    repairs_of,
    request_to_json,
    strike_to_json,
    sums_by_rule,
    whole_part,
)
from redline.sessions.words import first_words
from redline.values import payloads
from redline.values.messages import Media, Part, ToolResult

_MOST_MESSAGES = 200
"""Messages in one answer."""
_MOST_ROWS = 1_000
"""Rows of a comparison."""
_MOST_SNIPPETS = 50
_AROUND = 60
_TITLES_READ = 300
"""Conversations of a file whose first words are looked up."""


class SessionQuery:
    """A request to the API about one session: the session, and what the query says, checked."""

    def __init__(self, sessions: SessionRegistry, request: Request, settings: InspectorSettings) -> None:
        self.query = request.query_params
        self.is_read_only = settings.is_read_only
        self.session = sessions.open(request.path_params["id"])
        self.conversation = self.number("conversation", 0)
        self.request = _whole_number("The number of a request", str(request.path_params.get("number", 0)))
        self.policy = self.query.get("policy", AUTO)
        self.way = self.conversation, self.number("branch", 0) if "branch" in self.query else None

    def number(self, name: str, default: int) -> int:
        """A whole number of the query."""
        return _whole_number(name, self.query.get(name, str(default)))

    def played(self, name: str = "policy") -> PlaybackResult:
        """The conversation under the policy that the query names, with what was worked out of it."""
        return self.session.played(self.way, self.query.get(name, self.policy))

    def played_so_far(self) -> PlaybackResult:
        """The conversation with strikes and numbers if they are there in a moment; else without."""
        return self.session.played_so_far(self.way, self.policy)

    @property
    def can_act(self) -> bool:
        """Whether the session can be changed from here."""
        return self.session.is_log and not self.is_read_only


def _whole_number(what: str, text: str) -> int:
    if not text.isdecimal() or len(text) > 12:
        raise ValidationError(f"{what} must be a whole number, not {text[:40]!r}")
    return int(text)


def header(asked: SessionQuery) -> dict[str, Any]:
    """Quick, however large the session: numbers that take longer are told when they are known."""
    session, played = asked.session, asked.played_so_far()
    history, policy = played.playback.history, session.resolved(asked.policy)
    conversations = []
    for number, (one, is_subagent) in enumerate(session.read.conversations):
        title = first_words(entry.message for entry in one.entries[:5]) if number < _TITLES_READ else ""
        told = {"number": number, "id": one.id, "title": title, "messages": len(one.entries), "is_subagent": is_subagent}
        conversations.append(told)
    hooks = HookSavings() if session.is_log else read_hook_accounts().of_place(session.source.place)
    return {
        "id": session.id,
        "hook_folds": hooks.folds,
        "hook_saved_tokens": hooks.saved_tokens,
        "name": session.source.name,
        "path": session.source.name,
        **history_to_facts(history),
        "agent": agent_name(history.agent),
        "is_log": session.is_log,
        "conversations": conversations,
        "conversation": asked.conversation,
        "price": _price(played.playback),
        "version": session.version,
        "policy": policy,
        "is_hypothetical": policy != SENT,
        "can_act": asked.can_act,
        "is_pending": played.numbers is None,
        **(played.numbers or PENDING),
    }


def _price(playback: Playback) -> dict[str, Any] | None:
    """What the model costs, and how large a request to it may be."""
    price = playback.player.price
    if price is None:
        return None
    names = ("model", "input", "output", "cache_read", "cache_write", "window_tokens", "lifetime_minutes", "date")
    tiers = [{"above_tokens": tier.above_tokens, "input_factor": tier.input_factor} for tier in price.tiers]
    return {**{name: getattr(price, name) for name in names}, "tiers": tiers, "binds_reasoning": price.binds_reasoning}


def messages(asked: SessionQuery) -> dict[str, Any]:
    """Messages by their indices; of pictures it is told where they can be had."""
    start, indices = asked.number("from", 0), list[int]()
    for piece in filter(None, asked.query.get("indices", "").split(",")):  # such as 3,7-12, both ends included
        first, _, last = piece.partition("-")
        if not first.isdecimal() or (last and not last.isdecimal()):
            raise ValidationError(f"{piece[:40]!r} is no index; write 3,7-12")
        indices += range(int(first), min(int(last or first) + 1, int(first) + _MOST_MESSAGES))
        if len(indices) > _MOST_MESSAGES:
            break
    if "indices" not in asked.query:
        indices = list(range(start, start + min(asked.number("count", 50), _MOST_MESSAGES)))
    session, playback = asked.session, asked.played_so_far().playback
    shown = [message_to_json(playback, index) for index in indices[:_MOST_MESSAGES] if 0 <= index < playback.history.count]
    for message in shown:
        for one in message["parts"]:
            if one["image"] is not None:
                query = urlencode({"index": message["index"], "at": one["at"], "conversation": asked.conversation})
                one["image"] |= {"url": f"/api/sessions/{session.id}/image?{query}", "media_type": one["media_type"]}
    return {"messages": shown, "version": session.version}


def part(asked: SessionQuery) -> dict[str, Any]:
    """All of one part."""
    index, one = _named_part(asked)
    return whole_part(asked.played().playback, index, one)


def image(asked: SessionQuery) -> Response:
    """Only what a browser draws and nothing in it can run; as an attachment of its own it is bound even further."""
    _, one = _named_part(asked)
    picture = picture_of(one)
    if picture is None or not isinstance(one, Media) or one.media_type not in PICTURES:
        return problem_response(404, "There is no picture there that a browser can draw.")
    return Response(picture, media_type=one.media_type, headers={"content-security-policy": "default-src 'none'; sandbox"})


def _named_part(asked: SessionQuery) -> tuple[int, Part]:
    history, index = asked.played().playback.history, asked.number("index", 0)
    if index >= history.count:
        raise ValidationError(f"There is no message {index}; there are {history.count}, numbered from 0.")
    found = part_named(history.load(index), asked.query.get("at", ""))
    if found is None:
        raise ValidationError(f"Message {index} has no part at {asked.query.get('at', '')[:80]!r}.")
    return index, found


def find(asked: SessionQuery) -> dict[str, Any]:
    """The messages with a text, a kind of part, a tool, a strike, an error; all that is asked for must hold of one part."""
    playback, wanted = asked.played().playback, asked.query
    history, text = playback.history, wanted.get("text", "")
    request = int(wanted["request"]) if wanted.get("request", "").isdecimal() else None

    def fits(index: int, one: Part) -> bool:
        if wanted.get("kind") and wanted["kind"] not in (KINDS[type(one)], history.load(index).role):
            return False
        if wanted.get("tool") and playback.player.parts.tool_of(index, one) != wanted["tool"]:
            return False
        if wanted.get("error") and not (isinstance(one, ToolResult) and one.is_error):
            return False
        strikes = [strike for strike in playback.by_index.get(index, ()) if strike.at[: len(one.at)] == one.at]
        present = {strike.is_fold for strike in strikes if request is None or strike.is_in_force(request)}
        return not (wanted.get("struck") and False not in present) and not (wanted.get("folded") and True not in present)

    every = ((index, one, 0) for index in range(history.count) for one in history.load(index).parts)
    hits = asked.session.search(asked.way).find(text) if text else every
    found: dict[int, dict[str, Any]] = {}
    for index, one, place in hits:
        if index not in found and fits(index, one):
            said = part_text(one) if text and len(found) < _MOST_SNIPPETS else ""
            found[index] = {
                "index": index,
                "at": part_key(one.at),
                "before": said[max(place - _AROUND, 0) : place],
                "match": said[place : place + len(text)],
                "after": said[place + len(text) : place + len(text) + _AROUND],
            }
    return {"runs": runs_of(found), "count": len(found), "first": list(found.values())[:_MOST_SNIPPETS] if text else []}


def records(asked: SessionQuery) -> dict[str, Any]:
    """How the session went: records, branches and batches as a tree."""
    read = asked.session.read
    if read.log is not None:
        return history_to_json(history_of_log(read.log))
    if asked.conversation >= read.count:
        raise ValidationError(f"There is no conversation {asked.conversation}; there are {read.count}, numbered from 0.")
    return history_to_json(history_of_transcript(read.conversation(asked.conversation)[0]))


def request(asked: SessionQuery) -> dict[str, Any]:
    """One request exactly as it was sent: in numbers, with its messages and strikes."""
    return request_to_json(asked.played().playback, asked.request, asked.session.read.log)


def strikes(asked: SessionQuery) -> Response:
    """Every strike with its reason and its price, and the sums by rule."""
    played = asked.played()
    if played.strikes is None:
        playback = played.playback
        shown = [strike_to_json(playback, one, is_undoable=asked.can_act and one.end is None) for one in playback.strikes]
        played.strikes = payloads.encode({"strikes": shown, "rules": sums_by_rule(playback.strikes)})
    return Response(played.strikes, media_type="application/json")


def compare(asked: SessionQuery) -> dict[str, Any]:
    """Two requests, message by message; runs that are equal on both sides are folded."""
    log, playbacks = asked.session.read.log, [asked.played(name).playback for name in ("policy_a", "policy_b")]
    last = max(len(playbacks[0].history.requests) - 1, 0)
    numbers = asked.number("a", max(last - 1, 0)), asked.number("b", last)
    pairs = list(zip(playbacks, numbers, strict=True))
    left, right = (side_of_request(one, number, repairs_of(one, number, log).repairs) for one, number in pairs)
    found = diff_to_json(compare_sides(left, right))
    a, b = (request_to_json(one, number, log) for one, number in pairs)
    return {
        "a": a,
        "b": b,
        **found,
        "rows": found["rows"][:_MOST_ROWS],
        "left_out": max(len(found["rows"]) - _MOST_ROWS, 0),
    }


# --- the timeline

_FIRST_KINDS = (SYSTEM, "user", "assistant", "reasoning")
_MOST_TOOLS = 5
_OTHER = "other tools"
_MOST_POINTS = 2_000


def timeline(asked: SessionQuery) -> dict[str, Any]:
    """The size of every request by kind, its strikes and its cost; as many requests as there is room to draw."""
    playback = asked.played().playback
    tokens: Tally[str] = Tally()
    for size in playback.sizes:
        tokens.update(size.by_kind)
    tools = [kind for kind, _ in tokens.most_common() if kind not in _FIRST_KINDS]
    kinds = [kind for kind in _FIRST_KINDS if kind in tokens] + tools[:_MOST_TOOLS]
    kinds += [_OTHER] if len(tools) > _MOST_TOOLS else []
    broke = dict(lost_caches(playback.history, asked.session.read.log))
    chosen = _chosen(playback, max(2, min(asked.number("points", 1000), _MOST_POINTS)), broke)
    price = playback.player.price
    unit = price.input / 1e6 if price is not None else 1.0
    spent = list(accumulate(charge.cost * unit for charge in playback.charges))
    without = list(accumulate(charge.cost * unit for charge in playback.player.all_sent.charges))
    name = "as sent" if not playback.is_hypothetical else playback.name
    facts = _price(playback) or {"window_tokens": None, "tiers": []}
    return {
        "requests": len(playback.history.requests),
        "kinds": kinds,
        "points": [
            {
                **_point(playback, number, kinds, playback.charges[number].cost * unit),
                "broke": BreakSums([broke[number]]).rows[0].to_json() if number in broke else None,
            }
            for number in chosen
        ],
        "window_tokens": facts["window_tokens"],
        "tiers": facts["tiers"],
        "unit": "usd" if price is not None else "tokens",
        "costs": [
            {"name": "everything sent", "values": [without[number] for number in chosen]},
            {"name": name if not name.startswith("{") else "your policy", "values": [spent[number] for number in chosen]},
        ],
        "folded_total": sum(size.saved.folded for size in playback.sizes),
        "struck_total": sum(size.saved.struck for size in playback.sizes),
        "is_hypothetical": playback.is_hypothetical,
    }


def _chosen(playback: Playback, points: int, broke: Collection[int]) -> list[int]:
    """The requests that are drawn: the first and the last, those with a mark, and with the room that is left the largest and
    the last of each stretch. Of more marks than there is room for, the most important stay, and of those the dearest."""
    count = len(playback.sizes)
    if count <= points:
        return list(range(count))
    chosen: set[int] = {0, count - 1}
    requests = playback.history.requests
    compacted = [number for number, made in enumerate(requests) if made.is_new_view and number > 0]
    before = [number - 1 for number in compacted]  # so that the drop is drawn
    moved = [number for number, (one, after) in enumerate(pairwise(requests), 1) if one.model != after.model]
    cold = [number for number in range(count) if playback.why_cold(number)]
    for marked in (compacted, before, moved, list(broke), cold):
        dearest_first = sorted(set(marked) - chosen, key=lambda number: -playback.charges[number].cost)
        chosen.update(dearest_first[: points - len(chosen)])
    pairs = (points - len(chosen)) // 2
    step = -(-count // pairs) if pairs else count
    for start in range(0, count, step) if pairs else ():
        stretch = range(start, min(start + step, count))
        chosen |= {stretch[-1], max(stretch, key=lambda number: playback.sizes[number].sent)}
    return sorted(chosen)


def _point(playback: Playback, number: int, kinds: list[str], cost: float) -> dict[str, Any]:
    made, size = playback.history.requests[number], playback.sizes[number]
    sums = dict.fromkeys(kinds, 0.0)
    for kind, tokens in size.by_kind.items():
        sums[kind if kind in sums else _OTHER] += tokens
    cold = playback.why_cold(number)
    return {
        "request": number,
        "time_ms": made.time_ms or None,
        "model": made.model,
        "end": made.end,
        "sizes": [round(sums[kind]) for kind in kinds],
        "folded": size.saved.folded,
        "struck": size.saved.struck,
        "cost": cost,
        "read": round(playback.charges[number].read),
        "is_cold": bool(cold),
        "cold_because": cold,
        "compaction": made.is_new_view and number > 0,
    }


# --- actions: each appends a record; nothing is deleted, and each can be undone

_ACTIONS: dict[str, tuple[str, Callable[[Conversation, int], object], str]] = {
    "undo": ("strike", Conversation.undo, "Strike {} is undone: the part is sent as it was said from the next request on."),
    "pin": ("index", Conversation.pin, "Message {} is pinned: it is never struck, and strikes on it are undone."),
    "unpin": ("index", Conversation.unpin, "Message {} is no longer pinned."),
    "rollback": (
        "batch",
        Conversation.rollback,
        "Rolled back to batch {}: what it showed is visible again. No message is gone.",
    ),
    "rewind": ("index", Conversation.rewind, "Rewound to just after message {}. What came after it stays as a branch."),
    "switch": ("branch", Conversation.switch, "The conversation goes on at the end of branch {}."),
}
"""Each by the name of the number it needs, what it does, and what is said then."""


def act(asked: SessionQuery, body: object) -> dict[str, Any]:
    """Do what is asked for, and say what was done. What is not possible raises an error that says why."""
    if asked.is_read_only:
        raise ExecutionError("This inspector was started to read only.")
    session = asked.session
    if not session.is_log:
        raise ExecutionError("This is the session of another agent, which Redline does not change. Open it with redline.open.")
    if not isinstance(body, dict) or not isinstance(body.get("action"), str) or body["action"] not in _ACTIONS:
        raise ValidationError(f"An action is one of: {', '.join(_ACTIONS)}.")
    name, do, says = _ACTIONS[body["action"]]
    number = body.get(name)
    if not isinstance(number, int) or isinstance(number, bool):
        raise ValidationError(f"{body['action']} needs a whole number as {name!r}.")
    with session.lock, open_conversation(session.source.place) as talk:
        if name == "strike" and any(one.is_fold for one in talk.strikes if one.number == number):
            says = says.replace("Strike", "Fold", 1)
        do(talk, number)
    session.refresh(is_forced=True)
    return {"says": says.format(number), "version": session.version}
