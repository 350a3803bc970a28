"""When each mark of a set of rules becomes due in a recorded session, and what it would save in every request after."""

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from redline.replay.session import Session
from redline.rules import make_rules
from redline.rules.facts import Facts, Seen
from redline.rules.failures import KNOWN_SIGNS, FailureSigns
from redline.rules.historical_reads import HistoricalReads
from redline.rules.masked_results import MaskedResults
from redline.rules.presets import PRESET_RULES
from redline.rules.rule import Fold, Mark, Rule
from redline.rules.stale_terminal import StaleTerminal
from redline.rules.superseded_reads import SupersededReads
from redline.tokens import Counter, Estimate, Remembered, count_part
from redline.tools import DEFAULT, ToolBook
from redline.values.messages import Part, ToolCall, ToolResult
from redline.values.payloads import Path
from redline.values.words import EN

__all__ = ["MARK_SETS", "DueMark", "due_marks", "marks_made", "result_marks", "rules_of", "seen_in", "shrinkage"]

MARK_SETS = ("spec", "superseded", "masking")
"""The sets of rules that are compared: the documents' own, these and reads of files changed since, the last 10 results.

Each of `PRESET_RULES` is a set besides, which is compared under one schedule only.
"""


class DueMark(msgspec.Struct, frozen=True, gc=False):
    """A part that may go from a request on."""

    request: int
    """The number of the first request that may do without it."""
    position: int
    """Its message."""
    saving: float
    """The tokens by which the message shrinks."""
    at: Path = ()


def rules_of(mark_set: str, project_root: str = "") -> tuple[Rule, ...]:
    """The rules of a mark set."""
    if mark_set in PRESET_RULES:
        return make_rules(PRESET_RULES[mark_set], words=EN, project_root=project_root)
    spec = (StaleTerminal(), HistoricalReads(project_root=project_root))
    match mark_set:
        case "spec":
            return spec
        case "superseded":
            return (*spec, SupersededReads(project_root=project_root, until_read_again=False))
        case _:
            return (MaskedResults(keep_recent=10),)


def seen_in(session: Session, tools: ToolBook = DEFAULT, failures: FailureSigns = KNOWN_SIGNS) -> tuple[list[Seen], ...]:
    """By message, what is known of its parts when it is first sent. A new window is a new view."""
    starts, facts, found = {request.start for request in session.requests}, Facts(tools, failures), list[list[Seen]]()
    for place, message in enumerate(session.messages):
        if place in starts:
            facts = Facts(tools, failures)
        found.append(facts.add(place, message))
    return tuple(found)


def due_marks(
    session: Session, rules: Sequence[Rule], counter: Counter | None = None, *, seen: Sequence[list[Seen]] | None = None
) -> tuple[DueMark, ...]:
    """The marks in the order in which they become due; of several on one part the first counts."""
    counter = counter or Remembered(Estimate())
    found: dict[tuple[int, Path], DueMark] = {}
    for number, mark in marks_made(session, rules, seen_in(session) if seen is None else seen):
        part = next(part for part in session.messages[mark.index].walk() if part.at == mark.at)
        saving = session.scale * shrinkage(part, mark.replacement, counter)
        if saving > 0:
            found.setdefault((mark.index, mark.at), DueMark(number, mark.index, saving, mark.at))
    return tuple(found.values())


def result_marks(session: Session, placeholder: str = "[cleared]", counter: Counter | None = None) -> tuple[DueMark, ...]:
    """Every result of a tool in order, as a mark that is due when the result is first sent."""
    counter = counter or Remembered(Estimate())
    number, marks = 0, list[DueMark]()
    for position, message in enumerate(session.messages):
        while number < len(session.requests) and session.requests[number].end <= position:
            number += 1
        for result in message.results:
            saving = shrinkage(result, placeholder, counter)
            if saving > 0:
                marks.append(DueMark(number, position, session.scale * saving, result.at))
    return tuple(marks)


def marks_made(session: Session, rules: Sequence[Rule], seen: Sequence[list[Seen]]) -> Iterator[tuple[int, Mark]]:
    """Each mark with the number of the request before which it is made, from what is seen of each message."""
    start, end, folds = -1, 0, list[Fold]()
    for number, request in enumerate(session.requests):
        if request.start != start:
            start = end = request.start
            folds = [rule.fold() for rule in rules]
        new = (part for place in range(end, request.end) for part in seen[place])
        yield from ((number, mark) for part in new for fold in folds for mark in fold.see(part) or ())
        end = request.end
        for fold in folds:
            yield from ((number, mark) for mark in fold.due(request.time_ms) or ())
            fold.forget(request.time_ms)


def shrinkage(part: Part, replacement: str | dict[str, Any] | None, counter: Counter) -> int:
    """How many tokens fewer there are with a replacement: of a call, for its input; of a result, for all that is in it."""
    if isinstance(part, ToolCall) and replacement is not None:
        return count_part(part, counter) - count_part(msgspec.structs.replace(part, input=replacement), counter)
    replaced = part.parts if isinstance(part, ToolResult) else (part,)
    words = replacement if isinstance(replacement, str) else ""
    return sum(count_part(one, counter) for one in replaced) - counter.count(words)
