"""What of a request gives way to a line because the provider would not take all of it: marks that no schedule can put off."""

from collections.abc import Callable, Collection
from typing import Protocol

from msgspec.structs import replace

from redline.engine.bound_reasoning import BoundReasoning
from redline.engine.repaired import RepairedView
from redline.engine.sent import RepairedMessage, Sent, SentItem
from redline.engine.state import State
from redline.providers.limits.choice import parts_to_leave_out
from redline.providers.limits.refusals import TOKENS_PERMILLE, RefusedLimit, learned_limits
from redline.providers.limits.table import NO_LIMITS, RequestLimits
from redline.providers.limits.weights import HeavyPart, heavy_parts, may_hold_media
from redline.record.records import Destination
from redline.rules.facts import Seen
from redline.rules.placeholders import call_label, template_for, way_back
from redline.rules.protection import Protection
from redline.rules.rule import Mark
from redline.schedules.ledger import Target
from redline.values import payloads
from redline.values.messages import reference_to
from redline.values.words import Placeholders

LIMITS = "limits"
"""The rule under which such parts are struck."""

_WHAT_BYTES = 40


class WindowCount(Protocol):
    """What is worked out for a conversation, as far as it is asked here."""

    state: State

    def window_tokens(self, sent_to: Destination | None, permille: int = 1_000) -> float:
        """What a request takes of the window."""
        ...


class PieceWeight:
    """A message of what is sent, without strikes: its bytes, and the pictures and the like in it."""

    __slots__ = ("media", "piece", "size")

    def __init__(self, piece: SentItem, size: int, media: tuple[HeavyPart, ...]) -> None:
        self.piece, self.size, self.media = piece, size, media


class LimitMarks:
    """Weighs what is sent, each message once, and chooses what gives way; as long as all of it fits, no more is done."""

    def __init__(self, state: State, view: RepairedView, protection: Protection, words: Placeholders) -> None:
        self._state, self._view, self._protection, self._words = state, view, protection, words
        self._weights: list[PieceWeight] = []
        """Of what is final."""
        self._size = 0
        self._media: list[HeavyPart] = []
        """In all that is final."""
        self._heavy: dict[int, tuple[HeavyPart, ...]] = {}
        """By index, what may give way of a message, results too."""

    def marks(
        self,
        sent: Sent,
        limits: RequestLimits,
        see: Callable[[Mark], Seen | None],
        *,
        preamble_bytes: int,
        tokens: Callable[[], float],
        bound: BoundReasoning | None,
        refused: Collection[Target] = (),
    ) -> list[Mark]:
        """The parts that must give way so that what is sent, strikes carried out, is taken; empty if it fits."""
        if limits == NO_LIMITS:
            return []
        for piece in self._view.pieces[len(self._weights) :]:
            weight = self._weigh(piece)
            self._weights.append(weight)
            self._size += weight.size
            self._media += weight.media
        tail = [self._weigh(piece) for piece in self._view.tail]
        media = [*self._media, *(part for weight in tail for part in weight.media)] if self._media or tail else []
        most = preamble_bytes + self._size + sum(weight.size for weight in tail)
        # Strikes only take away, so that what fits without them fits; and a token is no less than two bytes.
        used = tokens() if 0 < limits.tokens < most / 2 else 0.0
        is_over = 0 < limits.request_bytes < most * 1.05 or 0 < limits.tokens < used
        if not is_over and not parts_to_leave_out(media, most, limits):
            return []
        parts, size = list[HeavyPart](), preamble_bytes
        for place, weight in enumerate((*self._weights, *tail)):
            message = sent.message_at(place)
            size += len(message.stored) + 1 if message.strikes else weight.size
            struck = [(one.index, one.at) for one in message.strikes if not one.is_fold]
            left = [part for part in self._heavy_parts(weight.piece) if not any(_covers(target, part) for target in struck)]
            parts += [replace(one, may_go=not self._must_stay(one, see, bound, refused)) for one in left]
        chosen = parts_to_leave_out(parts, size, limits, tokens=used)
        return [self._mark(parts[number], why, see) for number, why in chosen.items()]

    def _weigh(self, piece: SentItem) -> PieceWeight:
        # as it is in the record, which need not be read for it
        given = piece.message.native if isinstance(piece, RepairedMessage) else self._state.payload(piece)
        native = payloads.encoded(given)
        media = tuple(one for one in self._heavy_parts(piece) if one.kind != "result") if may_hold_media(native) else ()
        return PieceWeight(piece, len(native) + 1, media)

    def _heavy_parts(self, piece: SentItem) -> tuple[HeavyPart, ...]:
        """What may give way of a message, by its place in the record; what the assistant says stays."""
        if isinstance(piece, RepairedMessage):
            origins = {origin.at: origin for origin in piece.origins}
            found = heavy_parts(piece.message, 0) if piece.message.role != "assistant" else ()
            own = [(one, origins[one.at]) for one in found if one.at in origins]
            return tuple(replace(one, index=origin.index, at=origin.original) for one, origin in own)
        known = self._heavy.get(piece)
        if known is None:
            message = self._state.current(piece)
            known = self._heavy[piece] = heavy_parts(message, piece) if message.role != "assistant" else ()
        return known

    def _must_stay(
        self, part: HeavyPart, see: Callable[[Mark], Seen | None], bound: BoundReasoning | None, refused: Collection[Target]
    ) -> bool:
        """Whether the user, a law or the model's reasoning keeps it where it is."""
        target = part.index, part.at
        if part.index in self._state.pins or (LIMITS, *target) in self._state.undone or target in refused:
            return True
        if bound is not None and not bound.is_removable and bound.problem(*target) is not None:
            return True
        seen = see(Mark(LIMITS, part.index, part.at, None, ""))
        return part.kind == "result" and seen is not None and self._protection.covers(seen)

    def _mark(self, part: HeavyPart, why: str, see: Callable[[Mark], Seen | None]) -> Mark:
        seen, words = see(Mark(LIMITS, part.index, part.at, None, "")), self._words
        is_given = seen is not None and seen.result is not None
        again = way_back(seen, words) if seen is not None and is_given else ""
        if again in ("", words.may_repeat):
            place = seen.place if seen is not None else 0
            again = words.kept_in_record.format(reference=reference_to(part.index, place))
        what = call_label(seen, _WHAT_BYTES) if seen is not None and is_given else self._state.current(part.index).role
        line = template_for(words.over_limit, again).format(
            what=what, media_type=part.media_type or "text", size=part.size_words, again=again
        )
        return Mark(LIMITS, part.index, part.at, line, why)


def learn_from(work: WindowCount, refused: RefusedLimit, sent_to: Destination | None) -> dict[str, int]:
    """What a refusal of the last request teaches: of tokens by our own count, of bytes by those that were sent."""
    state = work.state
    if refused.name != "tokens":
        return learned_limits(refused, refused.given)
    permille = state.learned_limits.get(TOKENS_PERMILLE, 1_000)
    sent = work.window_tokens(sent_to, 1_000 if refused.taken else permille)
    return learned_limits(refused, sent, is_estimate=state.usage is None)


def _covers(target: Target, part: HeavyPart) -> bool:
    return target[0] == part.index and part.at[: len(target[1])] == target[1]
