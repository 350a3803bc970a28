"""Smaller forms of parts that were never sent, and the law of references: each leads to words that the same request sends."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from heapq import heapify, heappop, heappush
from itertools import chain
from typing import Protocol

import msgspec

from redline.engine.sent import RepairedMessage
from redline.engine.state import State
from redline.folds.references import digest_of, referred_lines
from redline.folds.sight import PartKind, Sight, ViewedPart, line_start_of
from redline.record.records import Reference, Strike
from redline.rules.facts import Seen
from redline.rules.placeholders import call_label
from redline.rules.results import kind_of_actions
from redline.rules.rule import Mark
from redline.rules.worth_words import texts_of
from redline.schedules.ledger import Target
from redline.values.messages import Text, ToolCall, ToolResult
from redline.values.payloads import Path

_LABEL_BYTES = 48
_NOWHERE: Path = ("repair",)
"""Where an answer is that is in no message of the record."""


class Shrinks(Protocol):
    """What rules that make parts smaller before their first sending have besides."""

    def shrink(self, seen: Seen, part: ViewedPart, sight: Sight) -> Mark | None:
        """A smaller form of a part, by its text alone and by what is in sight before it; None if there is none."""
        ...


class Shrinking:
    """Is shown each part that is sent, once, and says which parts that were never sent can be sent smaller.

    Knows how every part is sent: what is struck leaves the sight, and references to it need their words back.
    """

    def __init__(self, state: State, folds: Sequence[object], may_shrink: Callable[[Mark, Seen], bool]) -> None:
        self._state, self._may_shrink = state, may_shrink
        self._shrinks: list[Shrinks] = [fold for fold in folds if hasattr(fold, "shrink")]
        self.sight = Sight()
        self.pending: dict[Target, Mark] = {}
        """The smaller forms of parts that were never sent."""
        self._seen: dict[int, Seen] = {}
        """By order, inputs and results as rules see them."""
        self._outputs: dict[int, list[ViewedPart]] = {}
        """By order of an input, the outputs of its call."""
        self._open: list[ViewedPart] = []
        """Inputs of calls without a result so far."""
        self._forms: dict[int, Mark | Strike] = {}
        """By order of a part, its present form, where that refers to others."""
        self._referring: dict[int, set[int]] = {}
        """By order of a part, the parts that refer to it, or did."""
        self._lost: set[int] = set()
        """The parts that refer to what is not sent."""
        self._asked_at = state.asked_at
        self.changed_at: set[int] = set()
        """The messages to whose parts others refer than before; whoever looks takes them out."""

    @property
    def is_needed(self) -> bool:
        """Whether parts are made smaller, or were."""
        return bool(self._shrinks) or self._state.has_references

    def see(self, seen: Seen) -> None:
        """The next part of the view."""
        part = seen.part
        if isinstance(part, ToolCall) and not part.is_hosted:
            self._see_input(seen, part)
        elif isinstance(part, ToolResult) and not part.is_hosted:
            self._open = [one for one in self._open if one is not self._call_of(seen)]
            if len(part.parts) == 1 and isinstance(part.parts[0], Text):
                self._see_output(seen, part.at, part.parts[0].text)
            else:
                self._add(seen, part.at, "", "output", self._call_of(seen))
                for text in part.parts:
                    if isinstance(text, Text) and text.at != part.at:
                        self._see_output(seen, text.at, text.text, is_one_of_several=True)

    def see_answers(self, repaired: RepairedMessage) -> None:
        """The results that the repair made have names too; they stand in no message of the record."""
        given = {origin.at for origin in repaired.origins}
        for part in repaired.message.parts:
            if isinstance(part, ToolResult) and part.at not in given:
                call = next((one for one in self._open if self._id_of(one) == part.call_id), None)
                if call is not None:
                    self._open.remove(call)
                    self._add(self._seen[call.order], _NOWHERE, "", "output", call)

    def catch_up(self) -> None:
        """A request was made since: what is not smaller by now was sent as it was said."""
        if self._asked_at == self._state.asked_at:
            return
        self._asked_at = self._state.asked_at
        for target in [one for one in self.pending if one[0] < self._asked_at]:
            del self.pending[target]
            for part in self.sight.parts_at(*target):
                if not self._strikes_on(part):
                    self._say(part, part.said, None)

    def book(self, strikes: Iterable[Strike]) -> None:
        """Strikes are in force from now on."""
        for strike in strikes:
            for part in tuple(self.sight.parts_at(strike.index, strike.at)):
                self._take(part, strike)

    def forms(self, struck: Iterable[Strike], take: Callable[[Mark], bool]) -> list[Mark | Strike]:
        """Make the parts smaller that were never sent, and give the words back that references lose by these new strikes.

        `take` is asked in order whether a form can be sent. Gives the forms whose references are lost and cannot be helped.
        """
        before: dict[int, tuple[str | None, Mark | Strike | None]] = {}
        names: dict[int, str] = {}
        lost = set(self._lost)
        orders = [*lost, *(part.order for target in self.pending for part in self.sight.parts_at(*target))]
        heapify(orders)

        def say(part: ViewedPart, text: str | None, form: Mark | Strike | None) -> None:
            before.setdefault(part.order, (part.text, self._forms.get(part.order)))
            for order in self._referring.get(part.order, ()):
                heappush(orders, order)
            self._say(part, text, form)

        try:
            for strike in struck:
                for part in tuple(self.sight.parts_at(strike.index, strike.at)):
                    say(part, None, None)
                    if part.kind == "input":
                        names.setdefault(part.order, part.renamed)
                        if self._rename(part, self._name_after(part, strike)):
                            orders += [order for order in self._forms if order > part.order]
                            heapify(orders)
            return self._make_forms(orders, say, take)
        finally:
            for order, name in names.items():
                self._rename(self.sight.part(order), name)
            for order, (text, form) in before.items():
                self._say(self.sight.part(order), text, form)
            self._lost = lost

    def moved_share(self, index: int, at: Path) -> float:
        """The share of a part's words that others refer to, so that they would have to move there if the part were struck."""
        moved = chars = 0
        for part in self.sight.parts_at(index, at) if self._referring else ():
            chars += len(part.text or "")
            forms = (self._forms.get(order) for order in self._referring.get(part.order, ()))
            refers = [one for form in forms if form is not None for one in form.refers]
            lines = {line for one in refers if (one.index, one.at) == (part.index, part.at) for line in _lines_of(one)}
            held = part.lines if lines else []
            moved += sum(len(held[line]) + 1 for line in lines if line < len(held))
        return min(moved / chars, 1.0) if chars else 0.0

    # --- the parts

    def _see_input(self, seen: Seen, call: ToolCall) -> None:
        part = self._add(seen, call.at, max(texts_of(call), key=len, default=""), "input")
        self._seen[part.order], self._outputs[part.order] = seen, []
        self._open.append(part)
        for strike in self._strikes_on(part):
            self._take(part, strike)

    def _id_of(self, call: ViewedPart) -> str | None:
        part = self._seen[call.order].part
        return part.id if isinstance(part, ToolCall) else None

    def _call_of(self, seen: Seen) -> ViewedPart | None:
        """The input of the call that a result answers."""
        asked = seen.asked
        if asked is None:
            return None
        return next((one for one in self.sight.parts_at(asked.index, asked.part.at) if one.kind == "input"), None)

    def _name_after(self, part: ViewedPart, strike: Strike) -> str:
        """How a call is named once its input was struck; empty: as before, because that can still be read in it."""
        seen, struck = self._seen[part.order], strike.replacement
        if not isinstance(seen.part, ToolCall) or struck is None:
            return ""
        call = msgspec.structs.replace(seen.part, input=struck)
        subject = part.label_of().partition(" ")[2].strip("…")
        if subject in " ".join(" ".join(texts_of(call)).split()):
            return ""
        return call_label(msgspec.structs.replace(seen, part=call, known_actions=()), _LABEL_BYTES)

    def _rename(self, part: ViewedPart, name: str) -> bool:
        """Whether the name of an input, and of the outputs of its call, is another one by this."""
        if name == part.renamed:
            return False
        self.sight.rename([part, *self._outputs[part.order]], name)
        return True

    def _see_output(self, seen: Seen, at: Path, said: str, *, is_one_of_several: bool = False) -> None:
        part = self._add(seen, at, said, "" if is_one_of_several else "output", self._call_of(seen))
        self._seen[part.order] = seen
        if strikes := self._strikes_on(part):
            for strike in strikes:
                self._take(part, strike)
            if not self._holds(part):
                self._lost.add(part.order)
        elif seen.result is not None and seen.index >= self._state.asked_at and (mark := self._smaller(part)) is not None:
            self.pending[part.index, at] = mark
            self._say(part, str(mark.replacement), mark)

    def _add(self, seen: Seen, at: Path, said: str, kind: PartKind, call: ViewedPart | None = None) -> ViewedPart:
        label = partial(call_label, seen, _LABEL_BYTES)
        starts = line_start_of(said, is_file=kind != "input" and kind_of_actions(seen.actions) == "file read")
        part = ViewedPart(seen.index, at, self.sight.next_order, kind, label, starts, said, said, call)
        self.sight.add(part)
        if call is not None:
            self._outputs[call.order].append(part)
        return part

    def _smaller(self, part: ViewedPart, *, may_grow: bool = False) -> Mark | None:
        seen = self._seen[part.order]
        for rule in self._shrinks:
            mark = rule.shrink(seen, part, self.sight)
            if mark is not None and (may_grow or self._may_shrink(mark, seen)):
                return mark
        return None

    def _strikes_on(self, part: ViewedPart) -> list[Strike]:
        strikes = self._state.strikes_on(part.index)
        return [one for one in strikes if part.at[: len(one.at)] == one.at or one.at[: len(part.at)] == part.at]

    def _take(self, part: ViewedPart, strike: Strike) -> None:
        """A part is sent in another form, or not whole any more."""
        if not strike.is_fold or strike.at != part.at:
            self._say(part, None, None)
            if part.kind == "input":
                self._rename(part, self._name_after(part, strike))
        elif part.text is not None:
            self._say(part, str(strike.replacement), strike)

    def _say(self, part: ViewedPart, text: str | None, form: Mark | Strike | None) -> None:
        self.sight.show(part, text)
        self._lost.discard(part.order)
        earlier = self._forms.pop(part.order, None)
        if form is not None and form.refers:
            self._forms[part.order] = form
            for source in chain.from_iterable(self.sight.parts_at(one.index, one.at) for one in form.refers):
                self._referring.setdefault(source.order, set()).add(part.order)
        self.changed_at.update(one.index for known in (earlier, form) if known is not None for one in known.refers)

    # --- the law

    def _holds(self, part: ViewedPart) -> bool:
        """Whether each reference of a part as it is sent leads to its words."""
        form = self._forms.get(part.order)
        return form is None or all(self._leads(one, part) for one in form.refers)

    def _leads(self, reference: Reference, part: ViewedPart) -> bool:
        for source in self.sight.parts_at(reference.index, reference.at):
            if source.at == reference.at and source.order < part.order:
                is_named = self.sight.source_of(source, part.order) == reference.source
                return is_named and digest_of(referred_lines(reference, source)) == reference.digest
        return False

    def _make_forms(
        self, orders: list[int], say: Callable[[ViewedPart, str, Mark | None], None], take: Callable[[Mark], bool]
    ) -> list[Mark | Strike]:
        """Go through the parts in their order: the words of each decide which references the parts after it may have."""
        unhelped, done = list[Mark | Strike](), -1
        while orders:
            order = heappop(orders)
            part, form = self.sight.part(order), self._forms.get(order)
            if order == done or part.text is None:
                continue
            done, pending = order, self.pending.get((part.index, part.at))
            if pending is None and (form is None or self._holds(part)):
                continue
            mark = self._form_now(part, pending, form)
            if mark is None or not take(mark):
                if pending is not None:
                    say(part, part.said, None)
                elif form is not None:
                    unhelped.append(form)
            elif mark is not pending:
                say(part, str(mark.replacement), mark)
        return unhelped

    def _form_now(self, part: ViewedPart, pending: Mark | None, form: Mark | Strike | None) -> Mark | None:
        """The form in which a part is sent now: still smaller, or with the words that its references lost."""
        if pending is not None:
            return pending if self._holds(part) else self._smaller(part)
        smaller = self._smaller(part, may_grow=True)
        return smaller if smaller is not None or form is None else _whole_again(part, form)


def _lines_of(reference: Reference) -> range:
    return range(reference.line, reference.line + reference.count)


def _whole_again(part: ViewedPart, form: Mark | Strike) -> Mark:
    because = "the lines that it refers to are not sent any more: they are given back here"
    return Mark(form.rule, part.index, part.at, part.said, because, is_fold=True)
