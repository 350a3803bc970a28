"""Rules mark parts that may go: which, what is sent in their place, and why. When they go is for a schedule to decide."""

from collections.abc import Iterable
from dataclasses import fields, is_dataclass, replace
from functools import cache
from os import PathLike
from typing import Any

from redline.errors import ValidationError
from redline.plugins import load_plugins
from redline.rules.facts import Seen
from redline.rules.faded import Faded
from redline.rules.failed_inputs import FailedInputs
from redline.rules.folded import Folded
from redline.rules.historical_reads import HistoricalReads
from redline.rules.long_results import LongResults
from redline.rules.masked_results import MaskedResults
from redline.rules.offload_results import OffloadResults
from redline.rules.old_images import OldImages
from redline.rules.old_reasoning import OldReasoning
from redline.rules.protection import Protection
from redline.rules.repeated_calls import RepeatedCalls
from redline.rules.rule import Fold, Mark, Rule, TimelessFold
from redline.rules.settings import check_words, make_root
from redline.rules.stale_terminal import StaleTerminal
from redline.rules.superseded_reads import SupersededReads
from redline.values.words import Placeholders

__all__ = [
    "DEFAULT_RULES",
    "RULES",
    "Faded",
    "FailedInputs",
    "Fold",
    "Folded",
    "HistoricalReads",
    "LongResults",
    "Mark",
    "MaskedResults",
    "OffloadResults",
    "OldImages",
    "OldReasoning",
    "Protection",
    "RepeatedCalls",
    "Rule",
    "Seen",
    "StaleTerminal",
    "SupersededReads",
    "TimelessFold",
    "default_rules",
    "known_rules",
    "make_rules",
]

RULES: dict[str, type[Rule]] = {
    rule.name: rule
    for rule in (
        StaleTerminal,
        HistoricalReads,
        SupersededReads,
        RepeatedCalls,
        FailedInputs,
        MaskedResults,
        Faded,
        LongResults,
        OldReasoning,
        OldImages,
        OffloadResults,
        Folded,
    )
}
"""Every rule of Redline's own by its name. A new rule is one file in this folder, one line here, and one test file."""


@cache
def known_rules() -> dict[str, type[Rule]]:
    """`RULES`, and those that other packages add: entry points `redline.rules` that name a class with a method `fold`."""
    return {**RULES, **load_plugins("redline.rules", RULES)}


DEFAULT_RULES = (StaleTerminal.name, HistoricalReads.name)
"""The names of the rules that are on unless one says otherwise, in the order in which they mark."""


def default_rules(*, project_root: str | PathLike[str] = "") -> tuple[Rule, ...]:
    """The rules that are on unless one says otherwise, for a project."""
    return make_rules(DEFAULT_RULES, project_root=project_root)


def make_rules(
    rules: Iterable[Rule | str], *, words: Placeholders | str | None = None, project_root: str | PathLike[str] = ""
) -> tuple[Rule, ...]:
    """Rules by name or as objects, in this order, for one project and in one language.

    A rule that has a setting `project_root` or `words` and leaves it open is given these; what it says itself stays.
    """
    if isinstance(rules, str):
        raise ValidationError(f"rules must be a list of names or rules, not the one name {rules!r}; write [{rules!r}]")
    if not isinstance(rules, Iterable):
        raise ValidationError(f"rules must be a list of names or rules, not {type(rules).__name__}")
    check_words("rules", words)
    settings: dict[str, Any] = {"words": words, "project_root": make_root(project_root, "rules")}
    made = []
    for rule in map(_find_rule, rules):
        names = {field.name for field in fields(rule) if field.init} if is_dataclass(rule) else set[str]()
        missing = {name: value for name, value in settings.items() if value and name in names and not getattr(rule, name)}
        made.append(replace(rule, **missing) if missing else rule)  # type: ignore[type-var]
    return tuple(made)


def _find_rule(rule: Rule | str) -> Rule:
    if isinstance(rule, str):
        known_rule = RULES.get(rule) or known_rules().get(rule)
        if known_rule is None:
            raise ValidationError(f"There is no rule named {rule!r}. Known are: {', '.join(known_rules())}.")
        return known_rule()
    if isinstance(rule, type):
        raise ValidationError(f"A rule must be an object, not the class {rule.__name__}; write {rule.__name__}()")
    if not isinstance(getattr(rule, "name", None), str) or not callable(getattr(rule, "fold", None)):
        known = ", ".join(RULES)
        raise ValidationError(f"A rule is a name ({known}) or an object with a `name` and a method `fold`, not {rule!r}")
    return rule
