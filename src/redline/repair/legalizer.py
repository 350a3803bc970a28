"""The repair of a whole history, and of one that grows: what a provider asks, met with as little loss as possible."""

from collections.abc import Sequence

import msgspec

from redline.formats.base import Format
from redline.formats.flaws import Flaw, corrected
from redline.laws import History, problems_of
from redline.laws.first_message import FirstMessage
from redline.laws.hosted_results import HostedResults
from redline.laws.known_fields import KnownFields
from redline.laws.reasoning_order import tied_length
from redline.laws.trailing_space import TrailingSpace, ends_in_space
from redline.repair.content import Content
from redline.repair.exchange import Exchange
from redline.repair.exchanges import Exchanges, start_of_exchange
from redline.repair.hosted import open_ids, with_whole_hosted_calls
from redline.repair.ids import Numbered, with_good_ids
from redline.repair.open_calls import OpenKeys
from redline.repair.rematch import rematched
from redline.repair.sides import by_side
from redline.repair.strategies import check_strategy, mend
from redline.repair.together import Together
from redline.repair.values import Change, Draft, Item, Repair, Strategy
from redline.values import payloads
from redline.values.messages import Message, Text
from redline.values.pairs import pair_up
from redline.values.words import DOCUMENTS

__all__ = ["GO_ON", "NOT_SHOWN", "Legalizer", "Standing", "clean", "legalize"]

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
    exchanges = Exchanges(format)
    for item in items[start:]:
        exchanges.add(item, "drop")
    drafts = [mend(exchange, format, strategy) for exchange in (*exchanges.closed, exchanges.current)]
    mended = [item for draft in drafts for side in (draft.said, draft.heard) for item in side]
    return Repair((*items[:start], *mended), tuple(change for draft in drafts for change in draft.changes))


def legalize(messages: Sequence[Message], format: Format, strategy: Strategy = "drop") -> Repair:
    """The history such that it breaks no law of its format."""
    return Legalizer.over(messages, format, strategy).repair()


class Standing(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a repair must know of the messages that are settled, to go on behind them without them."""

    count: int = 0
    """How many there were."""
    has_begun: bool = False
    ids: tuple[str, ...] = ()
    """Of their calls, where the provider wants each only once."""
    open_keys: OpenKeys = OpenKeys()
    is_assistants: bool = False
    """Whether the assistant spoke last."""
    ends_in_space: bool = False
    """Whether the last words are the assistant's and end in white space, which the provider refuses at the end of all."""
    has_input: bool = False
    """Whether the assistant was given anything yet, or reasoned: what it says then is not cut off from its reasoning."""
    hosted_ids: tuple[str | None, ...] = ()
    """Of the provider's own calls in the last message, those without a result."""


class Legalizer:
    """Makes a history legal that grows at its end; one more message costs the same however many there are.

    Late results are moved to their calls, calls without a result are treated by the strategy, then each exchange is given
    what else the provider asks. What is settled is final: a message that would change it is not taken, and the history must
    be gone over again.

    Fields that the provider does not take are left to `Format.sendable`, and a surplus of cache breakpoints to
    `Format.within_limits`: they concern what is sent, not what was said. With `lifts_system`, messages of the system that have
    no place among the others are left to `Format.split_system`; else the user says them.
    """

    def __init__(
        self,
        format: Format,
        strategy: Strategy = "drop",
        *,
        behind: Standing = Standing(),  # noqa: B008 - frozen
        lifts_system: bool = False,
    ) -> None:
        check_strategy(strategy)
        self._format, self._strategy, self._lifts_system = format, strategy, lifts_system
        self._exchanges = Exchanges(format, behind.open_keys)
        self._content, self._together = Content(format), Together(format)
        self._wants_user_first = format.name in FirstMessage.rules
        self._wants_hosted_results = format.name in HostedResults.rules
        self._refuses_last_space = format.name in TrailingSpace.rules
        self._is_assistants, self._ends_in_space = behind.is_assistants, behind.ends_in_space
        self._has_input = behind.has_input
        self._hosted_ids = frozenset(behind.hosted_ids)
        self.corrections: list[Change] = []
        """What was wrong with single messages wherever they are, settled or not, and was put right."""
        self._has_begun = behind.has_begun
        self._ids = dict.fromkeys(behind.ids)
        self._count = behind.count
        self._open_from: int | None = behind.count
        """The first message that is not settled; None if a piece of it is, or of one behind it."""
        self._put_off: list[Item] = []
        """Results from the assistant's side for the exchange that is open; while there are any, nothing can be appended."""
        self.settled: list[Item] = []
        """What is final; it is only ever appended to."""
        self.changes: list[Change] = []
        """What was done to get there."""

    @classmethod
    def over(
        cls, messages: Sequence[Message], format: Format, strategy: Strategy = "drop", *, lifts_system: bool = False
    ) -> "Legalizer":
        """One that has gone over these messages, late results moved to their calls, and can be fed more."""
        legalizer = cls(format, strategy, lifts_system=lifts_system)
        start = _legal_length(messages, format)
        legalizer._settle_as_is(messages[:start])
        for message in messages[start:]:
            legalizer._add(message)
            legalizer._settle(may_move=True)
        legalizer._add_put_off()
        legalizer._settle()
        return legalizer

    def feed(self, message: Message) -> bool:
        """Take the next message. False, and nothing is changed, if more than appending is needed: go over all again then.

        That is so for a result that came late, and for a message of the assistant that holds results.
        """
        correct, flaws = self._corrected(message)
        before, rest, behind = by_side(correct, self._format)
        if self._put_off or before or behind or rest is None:
            return False
        current = self._exchanges.current
        if not self._exchanges.add(Item(rest, self._count), "refuse"):
            return False
        self._note(flaws)
        self._count_on(current)
        self._settle()
        return True

    def snapshot(self) -> Standing | None:
        """Where one can go on from later; None while what is settled depends on what comes."""
        if self._put_off or self._open_from is None:
            return None
        return Standing(
            count=self._open_from,
            has_begun=self._has_begun,
            ids=tuple(self._ids),
            open_keys=self._exchanges.open_keys,
            is_assistants=self._is_assistants,
            ends_in_space=self._ends_in_space,
            has_input=self._has_input,
            hosted_ids=tuple(self._hosted_ids),
        )

    def restore(self, behind: Standing) -> None:
        """Go on from a snapshot."""
        self.__init__(self._format, self._strategy, behind=behind, lifts_system=self._lifts_system)  # type: ignore[misc]

    @property
    def open_from(self) -> int | None:
        """How many messages are settled whole, those before the first that is not; None while that depends on what comes."""
        return None if self._put_off else self._open_from

    @property
    def has_open_calls(self) -> bool:
        """Whether a call of what is not settled waits for its result, or the assistant may still add one to what it says."""
        current = self._exchanges.current
        is_going_on = self._format.items_are_messages and current.is_speaking
        return bool(self._put_off) or is_going_on or not current.is_answered

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

    def _settle_as_is(self, messages: Sequence[Message]) -> None:
        """Begin with messages that are legal."""
        self._count = self._open_from = len(messages)
        self.settled = [Item(message, source) for source, message in enumerate(messages)]
        self._has_begun = any(message.role != "system" for message in messages)
        self._note_last(self.settled)
        if self._format.call_ids_are_unique:
            self._ids = {call.id: None for message in messages for call in message.calls if call.id is not None}

    def end(self) -> Draft:
        """What is not settled yet, as it would be if nothing more came, and what was done to it."""
        return self._legal(self._exchanges.current, is_end=True).draft

    def _add(self, message: Message) -> None:
        """Results in a message of the assistant that answer its own calls wait: the user's own results go before them."""
        if self._put_off and message.role == "assistant":
            self._add_put_off()
            self._put_off.clear()
        correct, flaws = self._corrected(message)
        self._note(flaws)
        current, moved, sides = self._exchanges.current, self._exchanges.moved, by_side(correct, self._format)
        for piece in (sides.before, sides.rest):
            if piece is not None:
                self._exchanges.add(Item(piece, self._count), "move")
        if sides.behind is not None:
            self._put_off.append(Item(sides.behind, self._count))
        if sides.rest is not correct:
            self._exchanges.note(Change(self._count, f"its results were given to the user: the {message.role} gives none"))
        self._count_on(current, is_whole=sides.rest is correct and moved == self._exchanges.moved)

    def _corrected(self, message: Message) -> tuple[Message, list[Flaw]]:
        """The message as the provider takes it wherever it is, and what was wrong with it."""
        flaws = [flaw for flaw in self._format.flaws(payloads.decode(message.native)) if flaw.law != KnownFields.name]
        if not flaws:
            return message, flaws
        correct = self._format.read(corrected(message.native, flaws))
        return msgspec.structs.replace(correct, timestamp_ms=message.timestamp_ms), flaws

    def _note(self, flaws: Sequence[Flaw]) -> None:
        self.corrections += [Change(self._count, f"corrected: {flaw.found} ({flaw.law})") for flaw in flaws]

    def _note_last(self, items: Sequence[Item]) -> None:
        """Remember who spoke last, and what the provider is still to give to it."""
        messages = [item.message for item in items]
        for message in reversed(messages):
            if message.role != "system":
                self._is_assistants = message.role == "assistant"
                break
        if messages:
            self._ends_in_space = self._refuses_last_space and ends_in_space(messages[-1])
            self._has_input = self._has_input or tied_length(messages, self._format) < len(messages)
        spoken = next((message for message in reversed(messages) if message.role == "assistant"), None)
        if spoken is not None and self._wants_hosted_results:
            self._hosted_ids = open_ids(spoken)

    def _count_on(self, current: Exchange, *, is_whole: bool = True) -> None:
        """One more message was taken; the one that begins an exchange is the first that is not settled."""
        now = self._exchanges.current
        if now.is_empty:
            self._open_from = self._count + 1
        elif not is_whole:
            self._open_from = None
        elif now is not current:
            self._open_from = self._count
        self._count += 1

    def _add_put_off(self) -> None:
        for item in self._put_off:
            self._exchanges.add(item, "move")

    def _settle(self, *, may_move: bool = False) -> None:
        """Make what is closed final; while results may move, only up to the first call that one could still come for."""
        closed = self._exchanges.closed
        while closed and (closed[0].is_answered or not may_move):
            draft, ids = self._legal(closed.popleft(), is_end=False)
            self.settled += draft.said
            self.settled += draft.heard
            self.changes += draft.changes
            self._note_last([*draft.said, *draft.heard])
            self._has_begun = self._has_begun or _begins(draft)
            if self._format.call_ids_are_unique:
                self._ids.update(dict.fromkeys(ids))

    def _legal(self, exchange: Exchange, *, is_end: bool) -> Numbered:
        """What an exchange becomes behind what is settled."""
        mended = mend(exchange, self._format, self._strategy)
        draft = self._together.gathered(mended)
        if draft is not mended or exchange.has_late_results:
            draft = rematched(draft, self._format, self._strategy)
        if self._wants_hosted_results and draft.said:
            is_going_on = is_end and not exchange.has_last_word
            resolved = None if is_going_on else exchange.resolved_next
            draft = with_whole_hosted_calls(draft, self._format, self._hosted_ids, resolved)
        draft = self._content.without_refused(draft, is_end=is_end, has_begun=self._has_begun)
        draft = self._with_system_in_place(self._without_ties(draft))
        if draft.said and self._wants_user_first and not self._has_begun:
            draft = self._with_line(draft, NOT_SHOWN, "the user must begin")
        elif draft.said and self._format.calls_follow_user and self._is_assistants and draft.said[0].message.calls:
            draft = self._with_line(draft, GO_ON, "a call must follow the user or a result")
        elif is_end and self._ends_in_space and not draft.said and not draft.heard:
            line = self._line(GO_ON)
            draft = Draft(
                (),
                [line],
                [
                    *draft.changes,
                    Change(
                        max(self._count - 1, 0),
                        "a line of the user was added: the assistant's words before it end in white space",
                    ),
                ],
            )
        return with_good_ids(draft, self._format, self._ids.keys())

    def _with_line(self, draft: Draft, words: str, why: str) -> Draft:
        """The user says a line before the assistant."""
        added = Change(draft.said[0].index, f"a line of the user was added before it: {why}")
        return Draft([self._line(words), *draft.said], draft.heard, [*draft.changes, added])

    def _line(self, words: str) -> Item:
        return Item(self._format.read(self._format.compose("user", (Text(words),)).payloads[0]), None)

    def _without_ties(self, draft: Draft) -> Draft:
        """Items at the very beginning are not tied to reasoning that came before them."""
        count = 0 if self._has_input else tied_length([item.message for item in draft.said], self._format)
        said = list(draft.said)
        changes: list[Change] = []
        for number, item in enumerate(said[:count]):
            if (message := self._format.untied(item.message)) is not item.message:
                said[number] = Item(message, item.source)
                changes.append(Change(item.index, "its id was removed: it ties the item to reasoning that is not there"))
        return Draft(said, draft.heard, [*draft.changes, *changes]) if changes else draft

    def _with_system_in_place(self, draft: Draft) -> Draft:
        """What the system says where it cannot is said by the user, unless it is lifted out later."""
        if self._lifts_system or all(item.message.role != "system" for item in draft.heard):
            return draft
        heard: list[Item] = []
        changes: list[Change] = []
        has_begun = self._has_begun or bool(draft.said)
        for item in draft.heard:
            if not self._format.is_apart(item.message, has_begun=has_begun):
                heard.append(item)
                continue
            message = self._format.as_user(item.message)
            heard += [Item(message, item.source)] if message is not None else []
            changes.append(Change(item.index, "given to the user: the system does not speak there"))
        return Draft(draft.said, heard, [*draft.changes, *changes])


def _legal_length(messages: Sequence[Message], format: Format) -> int:
    """How many messages break no law, up to where an exchange begins; the last exchange may still grow and is not counted."""
    problems = problems_of(History.of(messages, format), is_stored=True)
    first = problems[0].index if problems else len(messages) - 1
    return start_of_exchange(messages, first, format) if messages else 0


def _begins(draft: Draft) -> bool:
    """Whether somebody besides the system speaks."""
    return bool(draft.said) or any(item.message.role != "system" for item in draft.heard)
