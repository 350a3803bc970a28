"""A request in the making: strikes are tried one by one, and taken if the result stays legal."""

from collections import defaultdict
from collections.abc import Sequence

from redline.engine.form import Form, Forms
from redline.engine.outgoing import Outgoing
from redline.engine.state import State
from redline.errors import ValidationError
from redline.formats.base import Format
from redline.laws import problems_of
from redline.laws.law import History, Problem
from redline.log.records import Strike
from redline.values import payloads
from redline.values.pairs import pair_up

__all__ = ["Draft"]


class Draft:
    """A request in the making: strikes are tried one by one, and taken if the result stays legal."""

    def __init__(self, state: State, outgoing: Outgoing) -> None:
        self._state, self._outgoing = state, outgoing
        self.sent, self.find = outgoing.messages()
        """What is sent with all strikes taken, and where its parts are."""
        self._new_at: defaultdict[int, tuple[Strike, ...]] = defaultdict(tuple)
        """By place in what is sent, the strikes that were taken."""
        self.strikes: list[Strike] = []
        self.blobs: list[bytes] = []

    @property
    def next_number(self) -> int:
        """The number of the next strike."""
        return self._state.next_strike + len(self.strikes)

    def take(self, strike: Strike, blob: bytes | None) -> Problem | None:
        """Apply a strike, or say which law it would break, or why the format has no way to say it."""
        found = self.find(strike.index, strike.at)
        if found is not None:
            place, _ = found
            more = (*self._new_at[place], strike)
            after = self._outgoing.form_of(self.sent[place].source, more)
            if problem := _new_problem(self.sent, place, after, self._state.format, strike):
                return problem
            self.sent = self.sent.changed(place, after)
            self._new_at[place] = more
        self.strikes.append(strike)
        self.blobs += [blob] if blob is not None else []
        return None


def _new_problem(sent: Forms, place: int, after: Form, format: Format, strike: Strike) -> Problem | None:
    """A law that the messages around the place keep now and would break then. What one of them alone does wrong counts only
    for the one that changes."""
    before = sent[max(place - 1, 0) : place + 2]
    inner = min(place, 1)
    try:
        found = _problems((*before[:inner], after, *before[inner + 1 :]), inner, format)
    except ValidationError as refused:
        rule = "a part must have a place for the words that replace it"
        return Problem(strike.index, None, "sayable", rule, str(refused))
    known = {(problem.law, problem.index) for problem in _problems(before, inner, format)} if found else ()
    return next((problem for problem in found if (problem.law, problem.index) not in known), None)


def _problems(forms: Sequence[Form], changing: int, format: Format) -> list[Problem]:
    held = [form.message for form in forms]
    messages = tuple(message for message in held if message is not None)
    pairs = pair_up(messages, items_are_messages=format.items_are_messages)
    own, place = held[changing], sum(message is not None for message in held[:changing])
    flaws = format.flaws(payloads.decode(own.native)) if own is not None else []
    return problems_of(History(messages, format, pairs, [(place, flaw) for flaw in flaws]), is_stored=True)
