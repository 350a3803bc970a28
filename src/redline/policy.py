"""The settings of a conversation: which rules mark, when marks are applied, how interrupted calls are repaired."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from os import PathLike, fspath
from typing import Any, get_args

from redline.errors import ValidationError
from redline.prices.model import Model
from redline.repair import Strategy
from redline.rules import DEFAULT_RULES, make_rules
from redline.rules.protection import Protection
from redline.rules.rule import Rule
from redline.schedules import Schedule, find_schedule
from redline.tools import DEFAULT, ToolBook
from redline.values.words import DOCUMENTS, Words

__all__ = ["Policy"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """What is struck, when, and in which words. Checked when it is made; a conversation has one for all its requests."""

    rules: tuple[Rule | str, ...] = DEFAULT_RULES
    """What may go: names, or rules with settings of their own, in the order in which they mark."""
    schedule: Schedule | str | None = None
    """When marks are applied. None: `when_free` once the model is known, `eager` as long as nothing is known of prices."""
    words: Words = DOCUMENTS
    """What is sent in the place of what was struck."""
    strategy: Strategy = "drop"
    """What becomes of a call that never got its result: `drop`, `answer` or `strip`."""
    protection: Protection = field(default_factory=Protection)
    """What is never struck, whatever a rule says."""
    project_root: str = ""
    """What relative paths start from."""
    tool_book: ToolBook = DEFAULT
    """What tools do, by name; add those that only your agent has."""

    def __post_init__(self) -> None:
        own: dict[str, Any] = {"rules": _as_tuple(self.rules), "project_root": _as_text(self.project_root)}
        for name, value in own.items():
            object.__setattr__(self, name, value)
        if self.strategy not in get_args(Strategy):
            raise ValidationError(f"strategy must be one of {', '.join(get_args(Strategy))}, not {self.strategy!r}")
        kinds: dict[str, type] = {"words": Words, "protection": Protection, "tool_book": ToolBook}
        for name, kind in kinds.items():
            if not isinstance(getattr(self, name), kind):
                raise ValidationError(f"{name} must be a {kind.__name__}, not {getattr(self, name)!r}")
        if self.schedule is not None:
            find_schedule(self.schedule)
        make_rules(self.rules, words=self.words, project_root=self.project_root)

    @classmethod
    def documents(cls, **settings: Any) -> "Policy":
        """To the letter of the requirement documents: their two rules, applied at once, whatever the model."""
        return cls(schedule="eager", **settings)

    def made_rules(self, rules: Iterable[Rule | str] | None = None) -> tuple[Rule, ...]:
        """The rules as objects, for this project and in these words; others for one request."""
        return make_rules(self.rules if rules is None else rules, words=self.words, project_root=self.project_root)

    def made_schedule(self, schedule: Schedule | str | None, model: Model | None) -> Schedule:
        """The schedule of a request, with the prices of its model."""
        chosen = self.schedule if schedule is None else schedule
        if chosen is None:
            chosen = "eager" if model is None else "when_free"
        return find_schedule(chosen, model)


def _as_tuple(rules: object) -> object:
    """A list of rules as a tuple; what is no list is left to `make_rules`, which says so."""
    return tuple(rules) if isinstance(rules, Iterable) and not isinstance(rules, str) else rules


def _as_text(root: object) -> str:
    if isinstance(root, str | PathLike):
        text = fspath(root)
        if isinstance(text, str):
            return text
    raise ValidationError(f"project_root must be a path, not {root!r}")
