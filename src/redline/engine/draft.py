"""A request in the making: strikes are tried one by one, and taken if the result stays legal."""

from collections import defaultdict
from collections.abc import Callable, Sequence

from redline.engine.form import Form, Forms
from redline.engine.outgoing import Outgoing
from redline.engine.state import State
from redline.errors import ValidationError
from redline.formats.base import Format
from redline.log.records import Strike
from redline.view.laws import problems_of
from redline.view.laws.law import History, Problem

__all__ = ["Draft"]


class Draft:
    """A request in the making: strikes are tried one by one, and taken if the result stays legal."""

    def __init__(self, state: State, outgoing: Outgoing) -> None:
        self._state, self._outgoing = state, outgoing
        self._sent = outgoing.messages()
        self._new_on: defaultdict[int, tuple[Strike, ...]] = defaultdict(tuple)
        self._is_whole = True
        self.strikes: list[Strike] = []
        self.blobs: list[bytes] = []

    @property
    def next_number(self) -> int:
        """The number of the next strike."""
        return self._state.next_strike + len(self.strikes)

    @property
    def sent(self) -> Forms:
        """What is sent with all strikes taken. A strike on what the repair changed means to repair again."""
        return self._sent if self._is_whole else self._outgoing.anew(self._new_on)

    @property
    def place_of(self) -> Callable[[int], int | None]:
        """Where the message of an index stands in what is sent; None if it does not, or the repair has changed places."""
        return self._outgoing.places() if self._is_whole else lambda _: None

    def take(self, strike: Strike, blob: bytes | None) -> Problem | None:
        """Apply a strike, or say which law it would break, or why the format has no way to say it."""
        try:
            after = self._outgoing.struck(strike.index, (*self._new_on[strike.index], strike))
            after.work_out()
        except ValidationError as refused:
            return Problem(
                strike.index, None, "sayable", "a part must have a place for the words that replace it", str(refused)
            )
        place = self._outgoing.place_of(strike.index)
        if place is not None:
            if problem := _new_problem(self._sent, place, after, self._state.format):
                return problem
            self._sent = self._sent.changed(place, after)
        self._is_whole = self._is_whole and place is not None
        self._new_on[strike.index] += (strike,)
        self.strikes.append(strike)
        self.blobs += [blob] if blob is not None else []
        return None


def _new_problem(sent: Forms, place: int, after: Form, format: Format) -> Problem | None:
    """A law that the messages around the place keep now and would break then."""
    before = sent[max(place - 1, 0) : place + 2]
    inner = min(place, 1)
    changed = (*before[:inner], after, *before[inner + 1 :])
    found = _problems(changed, format)
    known = {(problem.law, problem.index) for problem in _problems(before, format)} if found else ()
    return next((problem for problem in found if (problem.law, problem.index) not in known), None)


def _problems(forms: Sequence[Form], format: Format) -> list[Problem]:
    messages = tuple(message for message in [form.message for form in forms] if message is not None)
    return problems_of(History.of(messages, format))
