"""The repair of a history, in order, with as little loss as possible; each step is beside its law in `redline.providers.laws`.

1. What is wrong with a message wherever it is, is corrected (`message_flaws`).
2. Messages are sorted into exchanges: calls are matched with results, and late results moved to their calls (`exchanges`).
3. A call that has no result is dropped, answered or stripped, as the strategy says (`answered_calls`).
4. The results of an exchange are put where the provider looks for them (`results`).
5. What the provider refuses to see is taken out (`hosted_results`, `content`, `reasoning_order`).
6. The user says a line where the assistant may not begin, go on or end (`turns`).
7. Calls get ids that the provider takes (`call_ids`).
8. As one request it holds no more than the provider takes (`request_limits`); in a conversation strikes see to that.

An exchange is settled once it is over: nothing that is said later changes it, but for a result that comes late.
"""

from collections import deque
from collections.abc import Iterable, Sequence
from typing import Literal

import msgspec

from redline.providers.flaws import KNOWN_FIELDS, Flaw, corrected
from redline.providers.format import Format
from redline.providers.laws import History, problems_of
from redline.providers.laws.answered_calls import apply_strategy, check_strategy
from redline.providers.laws.call_ids import with_good_ids
from redline.providers.laws.content import without_refused_content
from redline.providers.laws.hosted_results import without_interrupted_hosted_calls
from redline.providers.laws.law import Change, ExchangeDraft, Item, MessageExchange, Repair, Strategy, name_of
from redline.providers.laws.reasoning_order import without_lost_reasoning
from redline.providers.laws.request_limits import within_request_limits
from redline.providers.laws.results import gather_results, misplaced_results, split_results, with_media_after_results
from redline.providers.laws.turns import Preceding, with_line_of_user, with_system_in_place
from redline.values import payloads
from redline.values.messages import Message, ToolCall, ToolResult
from redline.values.pairs import CallMatcher, OpenCalls, OpenCallsSnapshot, Spot, pair_up

Late = Literal["drop", "move", "refuse"]
"""What becomes of a result that answers an open call, but too late: like any other that nobody asked for it is dropped, or it
is moved to its call, or the message is not taken."""


class Exchanges:
    """The exchanges of a history that grows. Once an exchange is closed, only a late result is still put into it."""

    def __init__(self, format: Format, open_calls: OpenCallsSnapshot = OpenCallsSnapshot()) -> None:  # noqa: B008 - frozen
        self._format = format
        self._matcher = CallMatcher(items_are_messages=format.items_are_messages)
        self._open_calls: OpenCalls[MessageExchange] = OpenCalls(open_calls)
        self.closed: deque[MessageExchange] = deque()
        """Those to which nothing is added any more but late results; whoever takes them out gives that up."""
        self.current = MessageExchange(self._matcher.step)
        self.moved = 0
        """How many results were moved to where they are missed."""

    @property
    def is_speaking(self) -> bool:
        """Whether the assistant spoke last."""
        return self._matcher.is_speaking

    def open_calls(self) -> OpenCallsSnapshot:
        """Which calls of closed exchanges have no result."""
        return self._open_calls.snapshot()

    def add(self, item: Item, late: Late) -> bool:
        """Take the next message. False, and nothing is changed, where a late result forbids it."""
        message, matcher = item.message, self._matcher
        orphans = matcher.add(message)
        if message.role == "assistant":
            if matcher.step is not self.current.step:
                hosted = [part for part in message.parts if type(part) is ToolResult and part.is_hosted]
                self.current.hosted_results_next = frozenset(result.call_id for result in hosted)
                self._start_next()
            self.current.said.append(item)
            return True
        if orphans and late == "refuse" and any(self._open_calls.find(stray) for stray, _ in _results_at(message, orphans)):
            matcher.take_back()
            return False
        self.current.heard += self._without_strays(item, orphans, late) if orphans else [item]
        if matcher.step is not self.current.step:
            self.current.has_last_word = True
            self._start_next()
        return True

    def _start_next(self) -> None:
        if not self.current.is_empty:
            self._open_calls.add(self.current.step, self.current)
            self.closed.append(self.current)
        self.current = MessageExchange(self._matcher.step)

    def _without_strays(self, item: Item, orphans: Sequence[Spot], late: Late) -> list[Item]:
        """The message without the results that answer nothing there; where they may be moved to their calls, they are."""
        strays = _results_at(item.message, orphans)
        to_move: dict[MessageExchange, list[ToolResult]] = {}
        for stray, spot in strays:
            asked = self._open_calls.find(stray) if late == "move" else None
            if asked is None or asked.owner is None:
                dropped = f"{name_of(stray)} was dropped: no open call asked for it there"
                self.current.changes.append(Change(item.index, dropped))
                continue
            self._open_calls.answer(asked)
            asked.owner.step.answers[asked.spot] = spot
            to_move.setdefault(asked.owner, []).append(stray)
        for home, late_results in to_move.items():
            for result in late_results:
                moved = f"{name_of(result)} was moved to its call in message {home.said[0].index}: it came too late"
                home.changes.append(Change(item.index, moved))
            is_all = len(late_results) == len(item.message.parts)
            message = item.message if is_all else self._format.set_apart(item.message, late_results)
            # They join the other results, before anything else that was heard.
            home.heard.insert(len(home.heard) - home.has_last_word, Item(message, item.source))
            home.has_late_results = True
            self.moved += len(late_results)
        return item.without([stray for stray, _ in strays], self._format)


def with_calls_answered(items: Iterable[Item], format: Format, strategy: Strategy) -> list[ExchangeDraft]:
    """The exchanges of these messages, each with every call answered and no result that nobody asked for; nothing is moved."""
    exchanges = Exchanges(format)
    for item in items:
        exchanges.add(item, "drop")
    return [apply_strategy(exchange, format, strategy) for exchange in (*exchanges.closed, exchanges.current)]


def match_again(draft: ExchangeDraft, format: Format, strategy: Strategy) -> ExchangeDraft:
    """An exchange whose results changed places, repaired again if a call misses its own: without ids the order pairs them."""
    items = [*draft.said, *draft.heard]
    pairs = pair_up([item.message for item in items], items_are_messages=format.items_are_messages)
    if not pairs.unanswered and not pairs.orphans:
        return draft
    first, *others = with_calls_answered(items, format, strategy)
    heard = [*first.heard, *(item for other in others for item in (*other.said, *other.heard))]
    changes = [change for again in (first, *others) for change in again.changes if change.index >= 0]
    return draft.changed(changes, said=first.said, heard=heard)


def start_of_exchange(messages: Sequence[Message], index: int, format: Format) -> int:
    """Where the exchange begins that a message belongs to; all exchanges before are closed by then."""
    while index > 0 and (
        messages[index].role != "assistant" or (format.items_are_messages and messages[index - 1].role == "assistant")
    ):
        index -= 1
    return index


def _results_at(message: Message, spots: Sequence[Spot]) -> list[tuple[ToolResult, Spot]]:
    found = ((message.parts[spot.part], spot) for spot in spots)
    return [(part, spot) for part, spot in found if isinstance(part, ToolResult)]


def clean(messages: Sequence[Message], format: Format, strategy: Strategy = "drop") -> Repair:
    """The history with every call answered and no result that nobody asked for; nothing is moved."""
    check_strategy(strategy)
    items = [Item(message, source) for source, message in enumerate(messages)]
    gap = pair_up(messages, items_are_messages=format.items_are_messages).first_gap
    if gap is None:
        return Repair(tuple(items), ())
    start = start_of_exchange(messages, gap, format)
    drafts = with_calls_answered(items[start:], format, strategy)
    cleaned = [item for draft in drafts for item in (*draft.said, *draft.heard)]
    return Repair((*items[:start], *cleaned), tuple(change for draft in drafts for change in draft.changes))


def legalize(messages: Sequence[Message], format: Format, strategy: Strategy = "drop", model: str = "") -> Repair:
    """The history such that it breaks no law of its format, as one request to the model if that is named."""
    return within_request_limits(Legalizer.over(messages, format, strategy).repair(), format, model)


class RepairSnapshot(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a repair must know of the messages that are settled, to go on after them without them."""

    count: int = 0
    """How many there were."""
    preceding: Preceding = Preceding()
    ids: tuple[str, ...] = ()
    """Of their calls, where the provider wants each only once."""
    open_calls: OpenCallsSnapshot = OpenCallsSnapshot()


class Legalizer:
    """Makes a history legal that grows at its end; one more message costs the same however many there are.

    What is settled is final: a message that would change it is not taken, and the history must be gone over again.

    Fields that the provider does not take are left to `Format.sendable`, and a surplus of cache breakpoints to
    `Format.within_limits`: they concern what is sent, not what was said. With `lifts_system`, messages of the system that have
    no place among the others are left to `Format.split_system`; else the user says them.
    """

    def __init__(self, format: Format, strategy: Strategy = "drop", *, lifts_system: bool = False) -> None:
        check_strategy(strategy)
        self._format, self._strategy, self._lifts_system = format, strategy, lifts_system
        self._exchanges = Exchanges(format)
        self._count = 0
        """How many messages were taken."""
        self._open_from: int | None = 0
        """The first message that is not settled; None if a piece of it is, or of one after it."""
        self._held_back: list[Item] = []
        """Results from the assistant's side for the exchange that is open; while there are any, nothing can be appended."""
        self._preceding = Preceding()
        self._ids: dict[str, None] = {}
        """Of the calls that are settled, where the provider wants each only once."""
        self.settled: list[Item] = []
        """What is final; it is only ever appended to."""
        self.changes: list[Change] = []
        """What was done to get there."""
        self.corrections: list[Change] = []
        """What was wrong with single messages wherever they are, settled or not, and was put right."""

    @classmethod
    def over(
        cls, messages: Sequence[Message], format: Format, strategy: Strategy = "drop", *, lifts_system: bool = False
    ) -> "Legalizer":
        """One that has gone over these messages, late results moved to their calls, and can be fed more."""
        legalizer = cls(format, strategy, lifts_system=lifts_system)
        # Begin with the messages that break no law, up to the last exchange, which may still grow.
        problems = problems_of(History.of(messages, format), is_stored=True, is_excerpt=True)
        count = start_of_exchange(messages, problems[0].index if problems else len(messages) - 1, format) if messages else 0
        legalizer._count = legalizer._open_from = count
        legalizer._finish([Item(message, source) for source, message in enumerate(messages[:count])])
        for message in messages[count:]:
            legalizer._add(message)
            legalizer._settle(may_move=True)
        legalizer._add_held_back()
        legalizer._settle()
        return legalizer

    def feed(self, message: Message) -> bool:
        """Take the next message. False, with nothing changed, for late results and the assistant's: go over all again then."""
        correct, flaws = self._corrected(message)
        if self._held_back or misplaced_results(correct):
            return False
        current = self._exchanges.current
        if not self._exchanges.add(Item(correct, self._count), "refuse"):
            return False
        self._count_message(flaws, current)
        self._settle()
        return True

    def end(self) -> ExchangeDraft:
        """What is not settled yet, as it would be if nothing more came, and what was done to it."""
        return self._legal(self._exchanges.current, is_end=True)

    def repair(self) -> Repair:
        """All of it, as it would be if nothing more came."""
        end = self.end()
        return Repair((*self.settled, *end.said, *end.heard), (*self.corrections, *self.changes, *end.changes))

    @property
    def open_from(self) -> int | None:
        """How many messages are settled whole, those before the first that is not; None while that depends on what comes."""
        return None if self._held_back else self._open_from

    @property
    def has_open_calls(self) -> bool:
        """Whether a call of what is not settled waits for its result, or the assistant may still add one to what it says."""
        is_going_on = self._format.items_are_messages and self._exchanges.is_speaking
        return bool(self._held_back) or is_going_on or not self._exchanges.current.step.is_answered

    def snapshot(self) -> RepairSnapshot | None:
        """What to go on from later; None while what is settled depends on what comes."""
        if self.open_from is None:
            return None
        return RepairSnapshot(self.open_from, self._preceding, tuple(self._ids), self._exchanges.open_calls())

    def restore(self, snapshot: RepairSnapshot) -> None:
        """Go on from there, before any message was taken."""
        self._count = self._open_from = snapshot.count
        self._preceding, self._ids = snapshot.preceding, dict.fromkeys(snapshot.ids)
        self._exchanges = Exchanges(self._format, snapshot.open_calls)

    # --- taking messages in

    def _add(self, message: Message) -> None:
        """Take the next message, whatever is in it, and move the results that came late to their calls."""
        if self._held_back and message.role == "assistant":
            self._add_held_back()
            self._held_back.clear()
        correct, flaws = self._corrected(message)
        current, moved = self._exchanges.current, self._exchanges.moved
        before, rest, after = split_results(correct, self._format)
        for piece in (before, rest):
            if piece is not None:
                self._exchanges.add(Item(piece, self._count), "move")
        if after is not None:  # the user's own results come first
            self._held_back.append(Item(after, self._count))
        if rest is not correct:
            given = Change(self._count, f"its results were given to the user: the {message.role} gives none")
            self._exchanges.current.changes.append(given)
        self._count_message(flaws, current, is_whole=rest is correct and moved == self._exchanges.moved)

    def _add_held_back(self) -> None:
        for item in self._held_back:
            self._exchanges.add(item, "move")

    def _corrected(self, message: Message) -> tuple[Message, list[Flaw]]:
        """The message without its flaws, and these: places that the provider refuses wherever the message is."""
        flaws = [flaw for flaw in self._format.flaws(payloads.decode_once(message.native)) if flaw.law != KNOWN_FIELDS]
        if not flaws:
            return message, flaws
        correct = self._format.read(corrected(message.native, flaws))
        return msgspec.structs.replace(correct, timestamp_ms=message.timestamp_ms), flaws

    def _count_message(self, flaws: Sequence[Flaw], before: MessageExchange, *, is_whole: bool = True) -> None:
        """One more message was taken; the one that begins an exchange is the first that is not settled."""
        self.corrections += [Change(self._count, f"corrected: {flaw.found} ({flaw.law})") for flaw in flaws]
        current = self._exchanges.current
        if current.is_empty:
            self._open_from = self._count + 1
        elif not is_whole:
            self._open_from = None
        elif current is not before:
            self._open_from = self._count
        self._count += 1

    # --- repairing exchanges

    def _settle(self, *, may_move: bool = False) -> None:
        """Make what is closed final; while results may move, only up to the first call that one could still come for."""
        closed = self._exchanges.closed
        while closed and (closed[0].step.is_answered or not may_move):
            draft = self._legal(closed.popleft(), is_end=False)
            self.changes += draft.changes
            self._finish([*draft.said, *draft.heard], has_lost_reasoning=draft.has_lost_reasoning)

    def _finish(self, items: Sequence[Item], *, has_lost_reasoning: bool = False) -> None:
        """Add what is final, and remember of it what the next exchanges depend on."""
        self.settled += items
        messages = [item.message for item in items]
        self._preceding = self._preceding.followed_by(messages, self._format, has_lost_reasoning=has_lost_reasoning)
        if self._format.call_ids_are_unique:
            calls = (call for one in messages if one.role == "assistant" for call in one.calls)
            self._ids.update((call.id, None) for call in calls if call.id is not None)

    def _legal(self, exchange: MessageExchange, *, is_end: bool) -> ExchangeDraft:
        """What an exchange becomes after what is settled; at the end, if nothing more came."""
        format, before = self._format, self._preceding
        draft = ExchangeDraft(exchange.said, exchange.heard, exchange.changes)
        if not exchange.step.is_answered:
            draft = apply_strategy(exchange, format, self._strategy)
        gathered = gather_results(draft, format)
        if gathered is not draft or exchange.has_late_results:
            gathered = match_again(gathered, format, self._strategy)
        if format.results_are_text:
            gathered = with_media_after_results(gathered, format)
        may_go_on = is_end and not exchange.has_last_word
        resolved = None if may_go_on else exchange.hosted_results_next
        draft, spoken = gathered, [part for item in gathered.said for part in item.message.parts]
        if any(isinstance(part, ToolCall | ToolResult) and part.is_hosted for part in spoken):
            draft = without_interrupted_hosted_calls(draft, format, pending=before.open_hosted_ids, resolved=resolved)
        draft = without_refused_content(draft, format, is_end=is_end, has_begun=before.has_begun)
        if before.has_lost_reasoning or not before.has_input:
            draft = without_lost_reasoning(draft, format)
        if not self._lifts_system:
            draft = with_system_in_place(draft, format, has_begun=before.has_begun)
        draft = with_line_of_user(draft, format, before, is_end=is_end, last_index=max(self._count - 1, 0))
        return with_good_ids(draft, format, self._ids.keys())
