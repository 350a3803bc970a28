"""A request in the making: strikes are tried one by one, and taken if the result stays legal."""

from collections.abc import Sequence

from redline.engine.repaired import RepairedView
from redline.engine.sent import SentMessage
from redline.engine.state import State
from redline.errors import ValidationError
from redline.laws import History, Problem, problems_of
from redline.log.records import Strike
from redline.values import payloads
from redline.values.pairs import pair_up

__all__ = ["Draft"]


class Draft:
    """A request in the making: strikes are tried one by one, and taken if the result stays legal."""

    def __init__(self, state: State, view: RepairedView) -> None:
        self._state = state
        self.sent, self.find = view.sent(), view.find_part()
        """What is sent with all strikes taken, and where its parts are."""
        self.strikes: list[Strike] = []
        self.blobs: list[bytes] = []
        """What the strikes refer to."""

    @property
    def next_number(self) -> int:
        """The number of the next strike."""
        return self._state.next_strike + len(self.strikes)

    def take(self, strike: Strike, blob: bytes | None) -> Problem | None:
        """Apply a strike, or say which law it would break, or why the format has no way to say it."""
        found = self.find(strike.index, strike.at)
        if found is not None and (problem := self._strike(strike, found[0])):
            return problem
        self.strikes.append(strike)
        self.blobs += [blob] if blob is not None else []
        return None

    def _strike(self, strike: Strike, place: int) -> Problem | None:
        """Strike what is sent at a place. A law that the messages around it keep now and would break then is given back, and
        nothing is changed. What one message alone does wrong counts only for the one that changes."""
        first, own = max(place - 1, 0), self.sent.new_strikes.get(strike.index, ())
        before = self.sent[first : place + 2]
        self.sent.new_strikes[strike.index] = (*own, strike)
        after = self.sent[first : place + 2]
        try:
            words_only = isinstance(strike.replacement, str) and _shape(before[place - first]) == _shape(after[place - first])
            found = self._problems(after, place - first, words_only=words_only)
        except ValidationError as refused:
            rule = "a part must have a place for the words that replace it"
            found, words_only = [Problem(strike.index, None, "sayable", rule, str(refused))], False
        known = found and {(one.law, one.index) for one in self._problems(before, place - first, words_only=words_only)}
        new = next((problem for problem in found if (problem.law, problem.index) not in known), None)
        if new is None:
            self.sent.new_places.add(place)
        else:
            self.sent.new_strikes[strike.index] = own
        return new

    def _problems(self, sent: Sequence[SentMessage], changing: int, *, words_only: bool) -> list[Problem]:
        format, messages = self._state.format, [one.message for one in sent]
        left = [message for message in messages if message is not None]
        own, place = messages[changing], sum(message is not None for message in messages[:changing])
        flaws = format.flaws(payloads.decode_once(own.native)) if own is not None else []
        pairs = pair_up(left, items_are_messages=format.items_are_messages)
        history = History(left, format, pairs, [(place, flaw) for flaw in flaws])
        return problems_of(history, is_stored=True, words_only=words_only)


def _shape(sent: SentMessage) -> list[tuple[object, ...]]:
    """What a message consists of, its words apart."""
    parts = sent.message.parts if sent.message is not None else ()
    return [(type(part), part.at, getattr(part, "id", None), getattr(part, "call_id", None)) for part in parts]
