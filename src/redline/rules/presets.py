"""Three sets of rules by name: how much may go, for how much risk."""

from redline.rules.faded import Faded
from redline.rules.old_reasoning import OldReasoning
from redline.rules.rule import Rule

__all__ = ["PRESET_RULES"]

_OLD_REASONING = OldReasoning(keep_recent=3, bound_too=True)

PRESET_RULES: dict[str, tuple[Rule, ...]] = {
    "careful": (Faded(max_chance=0.15, min_age=3), _OLD_REASONING),
    "balanced": (Faded(penalty_tokens=40_000, inputs=True), _OLD_REASONING),
    "bold": (Faded(penalty_tokens=12_000, inputs=True), _OLD_REASONING),
}
"""`careful` leaves what the assistant itself wrote as it is: it strikes results of tools that were sent whole in three requests
and have a chance of use of 15 % or less, and thoughts that are old.
`python -m bench.frontier` prints what each saves and risks."""
