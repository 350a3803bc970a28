"""Why a provider read less from its cache than it could: two requests compared piece by piece, a pure function of both."""

from collections import Counter
from collections.abc import Iterator, Sequence

import msgspec

from redline.cache_breaks.pieces import CachePiece, SentPieces
from redline.prices import Price
from redline.providers.usage import Usage, cache_seconds

LOOKBACK_BLOCKS = 20
"""How far before a breakpoint Anthropic looks for what it has cached.

https://docs.claude.com/en/docs/build-with-claude/prompt-caching
"""
LEAST_LOST, LEAST_SHARE = 512, 0.05
"""Less is how providers round, or the few words after the last breakpoint."""
_ALIVE_SHARE = 0.05
"""Where more than this of the cache was read, it had not expired."""
_FIT_SHARE = 0.6
"""A place cannot be the cause if much more was read than comes before it; token counts are estimates."""
_COMPACTED_SHARE, _SIDE_SHARE = 0.6, 0.05
"""A history that shrinks below the first share of itself was compacted; below the second it is another conversation."""


class ReportedRequest(msgspec.Struct, frozen=True):
    """A request as it was sent, with the provider's report."""

    pieces: SentPieces
    usage: Usage
    at: float
    """When it was answered, in seconds since 1970."""
    is_marked_only: bool = False
    """Whether the provider caches only what a mark ends, as Anthropic does."""

    @property
    def model(self) -> str:
        """The model that was asked."""
        return self.pieces.ahead[0].name if self.pieces.ahead else ""


class Difference(msgspec.Struct, frozen=True):
    """A place at which a request differs from the one before."""

    kind: str
    """A key of the table of causes."""
    place: str
    """In words: `system block 2`, `tool Bash`, `message 12`."""
    before: CachePiece | None = None
    after: CachePiece | None = None
    tokens_before: int = 0
    """About how many tokens come before it in the new request, and in its own piece."""


class Finding(msgspec.Struct, frozen=True):
    """Why tokens were not read from the cache."""

    cause: Difference
    lost_tokens: int
    others: int = 0
    """How many further places differ."""


def diagnose(
    previous: ReportedRequest, present: ReportedRequest, price: Price | None, *, has_cache: bool = True
) -> Finding | None:
    """Why the provider read less for a request than the one before had left in its cache; None if nothing much was lost.

    `has_cache` says whether the provider has ever reported a cache: a server without one loses nothing.
    """
    usage = present.usage
    is_short = price is not None and previous.usage.input_tokens < price.min_cached_tokens and not usage.cache_read_tokens
    most = min(previous.usage.input_tokens if is_short else _most_held(previous, present), usage.input_tokens)
    if most - usage.cache_read_tokens < max(LEAST_LOST, LEAST_SHARE * most):
        return None
    found = list(differences(previous, present))
    places = [one for one in found if one.kind != "another"]
    if len(places) < len(found):
        return None
    could = could_read(previous, present, places, is_short=is_short, has_cache=has_cache or price is not None)
    lost = could - usage.cache_read_tokens
    if lost < max(LEAST_LOST, LEAST_SHARE * could):
        return None
    meant = [one for one in places if one.kind not in ("attestation", "key_order", "spelling")]
    if is_short:
        return Finding(Difference("too_short", f"{previous.usage.input_tokens:,} tokens"), lost)
    seconds, is_long = present.at - previous.at, any(lifetime == "1h" for _, lifetime in previous.pieces.marks)
    if seconds > cache_seconds(price, is_long=is_long) and usage.cache_read_tokens < _ALIVE_SHARE * could:
        return Finding(Difference("expired", f"{seconds / 60:,.0f} minutes after the last request"), lost, len(meant))
    scale = usage.input_tokens / max(_tokens((*present.pieces.ahead, *present.pieces.messages)), 1)
    fitting = [one for one in meant if one.tokens_before * scale >= _FIT_SHARE * usage.cache_read_tokens]
    if not fitting and (moved := breakpoint_cause(previous, present)):
        return Finding(moved, lost, len(meant))
    cause = next(iter(fitting), None) or next(iter(sorted(places, key=lambda one: one.kind == "attestation")), None)
    if cause is None:
        return Finding(Difference("provider", "nothing that was sent"), lost)
    return Finding(cause, lost, len(meant) - (cause in meant))


def closest(earlier: Sequence[ReportedRequest], present: ReportedRequest) -> ReportedRequest | None:
    """Of earlier requests the one that the present begins like for longest, the latest of several."""

    def common(one: ReportedRequest) -> tuple[bool, int, int]:
        is_same, ahead = one.pieces.messages[:1] == present.pieces.messages[:1], _common(one.pieces.ahead, present.pieces.ahead)
        is_all_ahead = ahead == len(present.pieces.ahead) == len(one.pieces.ahead)
        return is_same, ahead, _common(one.pieces.messages, present.pieces.messages) if is_all_ahead else 0

    best: tuple[tuple[bool, int, int], ReportedRequest] | None = None
    for one in earlier:
        if best is None or common(one) >= best[0]:
            best = common(one), one
    return best[1] if best is not None else None


def differences(previous: ReportedRequest, present: ReportedRequest) -> Iterator[Difference]:
    """Every place that differs, in the order in which a provider looks its cache up; spellings last."""
    before, after = previous.pieces, present.pieces
    tokens = 0
    for kind in ("model", "header", "key", "tool", "attestation", "system", "field"):
        old, new = ([one for one in pieces.ahead if one.kind == kind] for pieces in (before, after))
        yield from ahead_differences(kind, old, new, tokens)
        tokens += _tokens(new)
    yield from message_differences(previous, present, tokens)
    yield from spelling_differences(before, after)


def ahead_differences(kind: str, old: Sequence[CachePiece], new: Sequence[CachePiece], tokens: int) -> Iterator[Difference]:
    """The first difference among the pieces of one kind that are sent before the messages."""
    same = _common(old, new)
    if same == len(old) == len(new):
        return
    one, other = (pieces[same] if same < len(pieces) else None for pieces in (old, new))
    tokens += _tokens(new[: same + 1])
    if kind == "tool":
        yield tool_difference(old, new, one, other, tokens)
    elif kind == "system":
        gone, come = ({piece.meaning for piece in pieces} for pieces in (old, new))
        is_added = other is not None and (one is None or one.meaning in come)
        is_removed = one is not None and not is_added and (other is None or other.meaning in gone)
        name = "system_added" if is_added else "system_removed" if is_removed else "system"
        place = f"system block {same + 1}" if len(old) > 1 or len(new) > 1 else "the system prompt"
        yield Difference(name, place, one, other, tokens)
    else:
        named = other or one
        places = {"model": "the model", "attestation": "the signed line in the system prompt"}
        place = places.get(kind) or f"{'header' if kind == 'header' else 'field'} {named.name if named else ''}"
        yield Difference(kind, place, one, other, tokens)


def tool_difference(
    old: Sequence[CachePiece], new: Sequence[CachePiece], one: CachePiece | None, other: CachePiece | None, tokens: int
) -> Difference:
    """Whether a tool was added, removed or changed, or all are there in another order."""
    if Counter(piece.meaning for piece in old) == Counter(piece.meaning for piece in new):
        return Difference("tool_order", "the order of the tools", one, other, tokens)
    names, new_names = {piece.name for piece in old}, {piece.name for piece in new}
    added = [piece for piece in new if piece.name not in names]
    removed = [piece for piece in old if piece.name not in new_names]
    if other is not None and other in added:
        return Difference("tool_added", f"tool {other.name}", None, other, tokens)
    if one is not None and one in removed:
        return Difference("tool_removed", f"tool {one.name}", one, None, tokens)
    before = next((piece for piece in old if other is not None and piece.name == other.name), one)
    return Difference("tool", f"tool {(other or one or CachePiece('', '', '')).name}", before, other, tokens)


def message_differences(previous: ReportedRequest, present: ReportedRequest, tokens: int) -> Iterator[Difference]:
    """The first message that differs, and whether the client went back, summed up or changed it, or Redline did."""
    old, new = previous.pieces.messages, present.pieces.messages
    same = _common(old, new)
    if same == len(old):
        return
    one, other = old[same], new[same] if same < len(new) else None
    place, tokens = f"message {same}", tokens + _tokens(new[: same + 1])
    stays = any(a.meaning == b.meaning for a, b in zip(old[same + 1 :], new[same + 1 :], strict=False))
    if other is not None and (one.given or one.meaning) == (other.given or other.meaning):
        yield Difference("strike" if other.given else "unstruck", place, one, other, tokens)
    elif stays:
        yield Difference("message", place, one, other, tokens)
    elif {piece.meaning for piece in old[same + 1 :]} & {piece.meaning for piece in new[same:]}:
        yield Difference("compaction", place, one, other, tokens)
    elif same == 0:
        share = present.usage.input_tokens / max(previous.usage.input_tokens, 1)
        is_compacted = _SIDE_SHARE < share < _COMPACTED_SHARE and previous.pieces.ahead[:1] == present.pieces.ahead[:1]
        yield Difference("compaction" if is_compacted else "another", place, one, other, tokens)
    else:
        is_shorter = len(new) < len(old) or (len(new) == len(old) and same < len(old) - 1)
        yield Difference("rewind" if is_shorter else "message", place, one, other, tokens)


def spelling_differences(before: SentPieces, after: SentPieces) -> Iterator[Difference]:
    """Pieces that say the same and are written in another way."""
    tokens, counts = 0, Counter[str]()
    is_all_ahead = len(before.ahead) == len(after.ahead)
    pairs = [*zip(before.ahead, after.ahead, strict=False)] if is_all_ahead else []
    for one, other in (*pairs, *zip(before.messages, after.messages, strict=False)):
        tokens += other.tokens
        number, counts[other.kind] = counts[other.kind], counts[other.kind] + 1
        if one.meaning == other.meaning and one.spelling and other.spelling and one.spelling != other.spelling:
            named = {"tool": f"tool {other.name}", "system": f"system block {number + 1}", "message": f"message {number}"}
            yield Difference("spelling", named.get(other.kind, f"field {other.name}"), one, other, tokens)
            return


def could_read(
    previous: ReportedRequest, present: ReportedRequest, places: Sequence[Difference], *, is_short: bool, has_cache: bool
) -> int:
    """How many tokens the provider could have read: what it held, as far as the present request still says it."""
    if not has_cache:
        return 0
    tokens = previous.usage.input_tokens if is_short else _most_held(previous, present)
    tokens = min(tokens, present.usage.input_tokens)
    if all(one.kind in ("attestation", "spelling") for one in places):
        return tokens
    known = Counter(one.given or one.meaning for one in (*previous.pieces.ahead, *previous.pieces.messages))
    wanted = all_of = 0
    for piece in (*present.pieces.ahead, *present.pieces.messages):
        all_of += piece.tokens
        if known[piece.given or piece.meaning] > 0:
            known[piece.given or piece.meaning] -= 1
            wanted += piece.tokens
    return min(tokens, round(present.usage.input_tokens * wanted / max(all_of, 1)))


def _most_held(previous: ReportedRequest, present: ReportedRequest) -> int:
    """What the request before left in the cache; where only marked beginnings are kept and none is marked now, all of it."""
    usage = previous.usage
    if not previous.is_marked_only or not present.pieces.marks:
        return usage.input_tokens
    return usage.cache_read_tokens + usage.cache_write_tokens


def breakpoint_cause(previous: ReportedRequest, present: ReportedRequest) -> Difference | None:
    """Where the beginning is unchanged: whether cache marks are gone, ask for another lifetime, or stand too far on."""
    before, after = previous.pieces.marks, present.pieces.marks
    if not present.is_marked_only or present.usage.cache_read_tokens >= previous.usage.input_tokens:
        return None
    if not after:
        return Difference("no_breakpoints", "no cache_control in the request")
    if not before:
        return None
    end = max(place for place, _ in before)
    if not any(place - LOOKBACK_BLOCKS <= end <= place for place, _ in after):
        following = min((place for place, _ in after if place > end), default=None)
        if following is None:
            return Difference("breakpoints_moved", f"no breakpoint at or after block {end}, where the last one was")
        return Difference("breakpoints_moved", f"the next breakpoint is {following - end} blocks after the last one")
    lifetimes = [max((lifetime or "5m" for _, lifetime in marks), default="") for marks in (before, after)]
    if lifetimes[0] != lifetimes[1]:
        return Difference("breakpoint_lifetime", f"a lifetime of {lifetimes[1]}, before of {lifetimes[0]}")
    return None


def _common(old: Sequence[CachePiece], new: Sequence[CachePiece]) -> int:
    """How many pieces both begin with."""
    for number, (one, other) in enumerate(zip(old, new, strict=False)):
        if one is not other and (one.meaning != other.meaning or one.kind != other.kind or one.name != other.name):
            return number
    return min(len(old), len(new))


def _tokens(pieces: Sequence[CachePiece]) -> int:
    return sum(one.tokens for one in pieces)
