"""Rules mark parts that may go: what, in favour of what, and why. When they go is not theirs to decide."""

from redline.rules.failed_inputs import FailedInputs
from redline.rules.historical_reads import HistoricalReads
from redline.rules.long_results import LongResults
from redline.rules.masked_results import MaskedResults
from redline.rules.offload import OffloadResults
from redline.rules.old_images import OldImages
from redline.rules.old_reasoning import OldReasoning
from redline.rules.repeated_calls import RepeatedCalls
from redline.rules.rule import Rule
from redline.rules.stale_terminal import StaleTerminal
from redline.rules.superseded_reads import SupersededReads

__all__ = ["DEFAULT_RULES", "RULES", "default_rules"]

RULES: dict[str, type[Rule]] = {
    rule.name: rule
    for rule in (
        StaleTerminal,
        HistoricalReads,
        SupersededReads,
        RepeatedCalls,
        FailedInputs,
        MaskedResults,
        LongResults,
        OldReasoning,
        OldImages,
        OffloadResults,
    )
}
"""Every rule by its name."""

DEFAULT_RULES = (StaleTerminal.name, HistoricalReads.name)
"""The names of the rules that are on unless one says otherwise, in the order in which they mark."""


def default_rules(*, project_root: str = "") -> tuple[Rule, ...]:
    """The rules that are on unless one says otherwise, for a project."""
    return StaleTerminal(), HistoricalReads(project_root=project_root)
