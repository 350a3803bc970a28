"""The repair of a history, in order, with as little loss as possible.

1. What is wrong with a message wherever it is, is corrected.
2. Messages are sorted into exchanges: calls are matched with results, and late results moved to their calls (`exchanges`).
3. A call that has no result is dropped, answered or stripped, as the strategy says (`strategies`).
4. The results of an exchange are put where the provider looks for them (`results`).
5. What the provider refuses to see is taken out (`content`).
6. The user says a line where the assistant may not begin, go on or end.
7. Calls get ids that the provider takes (`ids`).

An exchange is settled once it is over: nothing that is said later changes it, but for a result that comes late.
"""

from collections.abc import Sequence

import msgspec

from redline.formats.base import Format
from redline.formats.flaws import Flaw, corrected
from redline.laws import History, problems_of
from redline.laws.first_message import FirstMessage
from redline.laws.known_fields import KnownFields
from redline.repair.changes import Change, ExchangeDraft, Item, Repair, Strategy
from redline.repair.content import (
    with_system_in_place,
    without_interrupted_hosted_calls,
    without_lost_reasoning,
    without_refused_content,
)
from redline.repair.exchanges import Exchanges, MessageExchange, start_of_exchange
from redline.repair.ids import with_good_ids
from redline.repair.preceding import Preceding
from redline.repair.results import gather_results, misplaced_results, split_results, with_media_after_results
from redline.repair.strategies import apply_strategy, check_strategy, match_again, with_calls_answered
from redline.values import payloads
from redline.values.messages import Message, Text
from redline.values.pairs import OpenCallsSnapshot, pair_up
from redline.values.words import DOCUMENTS

__all__ = ["GO_ON", "NOT_SHOWN", "Legalizer", "RepairSnapshot", "clean", "legalize"]

GO_ON = "(Go on.)"
"""What the user says between two turns of the model, where the second may not follow the first."""
NOT_SHOWN = DOCUMENTS.not_shown
"""What the user says first where the assistant would."""


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


def legalize(messages: Sequence[Message], format: Format, strategy: Strategy = "drop") -> Repair:
    """The history such that it breaks no law of its format."""
    return Legalizer.over(messages, format, strategy).repair()


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
        legalizer._settle_legal(messages)
        for message in messages[legalizer._count :]:
            legalizer._add(message)
            legalizer._settle(may_move=True)
        legalizer._add_held_back()
        legalizer._settle()
        return legalizer

    def feed(self, message: Message) -> bool:
        """Take the next message. False, and nothing is changed, if more than appending is needed: go over all again then.

        That is so for a result that came late, and for a message of the assistant that holds results.
        """
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

    def tail(self) -> tuple[Item, ...]:
        """What is not settled yet, as it would be if nothing more came."""
        end = self.end()
        return (*end.said, *end.heard)

    def all_changes(self) -> tuple[Change, ...]:
        """What was done, as it would be if nothing more came."""
        return (*self.corrections, *self.changes, *self.end().changes)

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

    def _settle_legal(self, messages: Sequence[Message]) -> None:
        """Begin with the messages that break no law, up to the last exchange, which may still grow."""
        if not messages:
            return
        problems = problems_of(History.of(messages, self._format), is_stored=True)
        count = start_of_exchange(messages, problems[0].index if problems else len(messages) - 1, self._format)
        self._count = self._open_from = count
        self._finish([Item(message, source) for source, message in enumerate(messages[:count])])

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
        """The message as the provider takes it wherever it is, and what was wrong with it."""
        flaws = [flaw for flaw in self._format.flaws(payloads.decode_once(message.native)) if flaw.law != KnownFields.name]
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
            self._ids.update((call.id, None) for message in messages for call in message.calls if call.id is not None)

    def _legal(self, exchange: MessageExchange, *, is_end: bool) -> ExchangeDraft:
        """What an exchange becomes after what is settled; at the end, if nothing more came."""
        format, before = self._format, self._preceding
        draft = apply_strategy(exchange, format, self._strategy)
        gathered = gather_results(draft, format)
        if gathered is not draft or exchange.has_late_results:
            gathered = match_again(gathered, format, self._strategy)
        gathered = with_media_after_results(gathered, format)
        may_go_on = is_end and not exchange.has_last_word
        resolved = None if may_go_on else exchange.hosted_results_next
        draft = without_interrupted_hosted_calls(gathered, format, pending=before.open_hosted_ids, resolved=resolved)
        draft = without_refused_content(draft, format, is_end=is_end, has_begun=before.has_begun)
        if before.has_lost_reasoning or not before.has_input:
            draft = without_lost_reasoning(draft, format)
        if not self._lifts_system:
            draft = with_system_in_place(draft, format, has_begun=before.has_begun)
        draft = self._with_line_of_user(draft, is_end=is_end)
        return with_good_ids(draft, format, self._ids.keys())

    def _with_line_of_user(self, draft: ExchangeDraft, *, is_end: bool) -> ExchangeDraft:
        """The exchange with a line of the user where the provider does not take it without."""
        format, before = self._format, self._preceding
        if draft.said and not before.has_begun and format.name in FirstMessage.rules:
            words, why = NOT_SHOWN, "added before it: the user must begin"
        elif draft.said and format.calls_follow_user and before.ends_with_assistant and draft.said[0].message.calls:
            words, why = GO_ON, "added before it: a call must follow the user or a result"
        elif is_end and before.ends_in_space and not draft.said and not draft.heard:
            words, why = GO_ON, "added: the assistant's words before it end in white space"
        else:
            return draft
        line = Item(format.read(format.compose("user", (Text(words),)).payloads[0]), None)
        index = draft.said[0].index if draft.said else max(self._count - 1, 0)
        change = Change(index, f"a line of the user was {why}")
        return draft.changed([change], said=[line, *draft.said] if draft.said else None, heard=None if draft.said else [line])
