"""What a policy strikes by the kind of tool, and how much of each kind was used later."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from redline.replay.history import PastStrike
from redline.replay.risk import Holder, Risk
from redline.rules.facts import Seen
from redline.rules.worth_kinds import KINDS, ResultKind, kind_of_actions
from redline.values.messages import ToolResult

__all__ = ["KindRisk", "kind_risks", "kinds_in", "summed_kinds"]


class KindRisk(msgspec.Struct, frozen=True, gc=False):
    """How many parts of one kind were struck, and how many of these were used later, by each measure."""

    strikes: int = 0
    quoted: int = 0
    strict: int = 0


def kinds_in(seen: Sequence[Sequence[Seen]]) -> dict[Holder, ResultKind]:
    """The kind of each tool result; a message that is struck as a whole has that of its first result."""
    kinds: dict[Holder, ResultKind] = {}
    for place, parts in enumerate(seen):
        for one in parts:
            if isinstance(one.part, ToolResult):
                kind = kind_of_actions(one.actions)
                kinds[place, one.part.at] = kind
                kinds.setdefault((place, ()), kind)
    return kinds


def kind_risks(
    kinds: Mapping[Holder, ResultKind], by_part: Mapping[Holder, Sequence[PastStrike]], *, quoted: Risk, strict: Risk
) -> dict[ResultKind, KindRisk]:
    """Each kind of which something was struck, by the strikes on each part. What is no result of a tool counts as other."""
    struck = Counter(kinds.get(part, "other") for part, strikes in by_part.items() for _ in strikes)
    used = [Counter(kinds.get(key, "other") for key in risk.missed) for risk in (quoted, strict)]
    return {kind: KindRisk(struck[kind], *(one[kind] for one in used)) for kind in KINDS if struck[kind]}


def summed_kinds(found: Iterable[Mapping[ResultKind, KindRisk]]) -> dict[ResultKind, KindRisk]:
    """Many sessions together; every kind is there."""
    sums = dict.fromkeys(KINDS, KindRisk())
    for kinds in found:
        for kind, risk in kinds.items():
            known = sums[kind]
            sums[kind] = KindRisk(known.strikes + risk.strikes, known.quoted + risk.quoted, known.strict + risk.strict)
    return sums
