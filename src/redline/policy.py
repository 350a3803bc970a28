"""The settings of a conversation: which rules mark, when marks are applied, how interrupted calls are repaired."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from os import PathLike, fspath
from pathlib import Path
from typing import Any, TypedDict, Unpack, get_args

from redline.engine.workings import Settings
from redline.errors import ValidationError
from redline.policy_file import policy_toml, read_policy_file, read_policy_table
from redline.prices.model import Model
from redline.repair import Strategy
from redline.rules import DEFAULT_RULES, make_rules
from redline.rules.facts import Seen
from redline.rules.faded import Faded
from redline.rules.failures import FailureSigns, SignSet
from redline.rules.presets import PRESET_RULES
from redline.rules.protection import Protection
from redline.rules.rule import Rule
from redline.schedules import Schedule, find_schedule
from redline.tools import DEFAULT, ToolBook
from redline.values.checks import shown
from redline.values.messages import ToolResult
from redline.values.words import DOCUMENTS, EN, Words, make_words

__all__ = ["EDITOR_POLICY", "Policy", "PolicySettings", "check_blobs", "make_policy"]


class PolicySettings(TypedDict, total=False):
    """What a preset takes besides: the fields of a `Policy`."""

    rules: Sequence[Rule | str]
    schedule: Schedule | str | None
    words: Words
    strategy: Strategy
    protection: Protection
    project_root: str | PathLike[str]
    tool_book: ToolBook
    is_error: Callable[[Seen], object] | None
    error_words: Sequence[str]
    error_signs: SignSet


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Policy:
    """What is struck, when, and in which words. Checked when it is made; a conversation has one for all its requests."""

    rules: Sequence[Rule | str] = DEFAULT_RULES
    """What may go: names, or rules with settings of their own, in the order in which they mark."""
    schedule: Schedule | str | None = None
    """When marks are applied. None: `when_free` once the model is known, `eager` as long as nothing is known of prices."""
    words: Words = DOCUMENTS
    """What is sent in the place of what was struck; `"en"` and `"documents"` name those that ship."""
    strategy: Strategy = "drop"
    """What becomes of a call that never got its result: `drop`, `answer` or `strip`."""
    protection: Protection = field(default_factory=Protection)
    """What is never struck, whatever a rule says."""
    project_root: str | PathLike[str] = ""
    """What relative paths start from."""
    tool_book: ToolBook = DEFAULT
    """What tools do, by name; add those that only your agent has."""
    is_error: Callable[[Seen], object] | None = None
    """Whether a result reports a failure, asked where nothing else shows it: given the result as rules see it."""
    error_words: Sequence[str] = ()
    """Words that results of your tools begin with when they report a failure."""
    error_signs: SignSet = "known"
    """By what failures are known besides: all that Redline knows, or nothing but the signs of the `documents`."""
    _made_rules: tuple[Rule, ...] = field(init=False, compare=False)

    def __post_init__(self) -> None:
        if isinstance(self.rules, Iterable) and not isinstance(self.rules, str):  # what is no list, make_rules refuses
            object.__setattr__(self, "rules", tuple(self.rules))
        root = fspath(self.project_root) if isinstance(self.project_root, str | PathLike) else None
        if not isinstance(root, str):
            raise ValidationError(f"project_root must be a path, not {self.project_root!r}")
        object.__setattr__(self, "project_root", root)
        if self.strategy not in get_args(Strategy):
            raise ValidationError(f"strategy must be one of {', '.join(get_args(Strategy))}, not {self.strategy!r}")
        object.__setattr__(self, "words", make_words(self.words, ""))
        kinds: dict[str, type] = {"protection": Protection, "tool_book": ToolBook}
        for name, kind in kinds.items():
            if not isinstance(getattr(self, name), kind):
                raise ValidationError(f"{name} must be a {kind.__name__}, not {getattr(self, name)!r}")
        if self.schedule is not None:
            find_schedule(self.schedule)
        object.__setattr__(self, "error_words", self.failures.words)
        made = make_rules(self.rules, words=self.words, project_root=self.project_root)
        object.__setattr__(self, "_made_rules", made)

    def __repr__(self) -> str:
        """What differs from the defaults."""
        own = {field.name: getattr(self, field.name) for field in fields(self) if field.init}
        changed = [f"{name}={value!r}" for name, value in own.items() if value != getattr(_DEFAULT, name)]
        return f"Policy({', '.join(changed)})"

    @classmethod
    def load(cls, path: str | PathLike[str], *, base: "Policy | None" = None) -> "Policy":
        """The policy in a `redline.toml`, or in the table `[tool.redline]` of a `pyproject.toml`.

        What the file does not say is as in the `preset` that it names, else as in `base`, else as by default; a relative
        `project_root` starts from the file's folder.
        """
        settings = read_policy_file(path)
        try:
            return cls._of_settings(settings, base)
        except ValidationError as problem:
            raise ValidationError(f"{fspath(path)}: {problem}") from problem

    @classmethod
    def of_table(cls, table: Mapping[str, Any]) -> "Policy":
        """The policy that a `redline.toml` with this table would make; relative paths start from the working directory."""
        return cls._of_settings(read_policy_table(table, Path.cwd()))

    @classmethod
    def _of_settings(cls, settings: dict[str, Any], base: "Policy | None" = None) -> "Policy":
        """As a file says them; what it does not say is as in its preset, or as in the base."""
        preset = settings.pop("preset", None)
        return replace((base or cls()) if preset is None else cls.named(preset), **settings)

    def toml(self) -> str:
        """The policy as the text of a `redline.toml`, which `load` reads again."""
        return policy_toml({field.name: getattr(self, field.name) for field in fields(self) if field.init})

    @classmethod
    def documents(cls, **settings: Unpack[PolicySettings]) -> "Policy":
        """To the letter of the requirement documents: their two rules, applied at once, whatever the model, and their signs of
        a failure."""
        chosen: PolicySettings = {"schedule": "eager", "error_signs": "documents", **settings}
        return cls(**chosen)

    @classmethod
    def careful(cls, *, recall_tool: str | None = None, **settings: Unpack[PolicySettings]) -> "Policy":
        """Strikes results that will hardly be used again, and old reasoning, when that is free or pays.

        `recall_tool` is the name under which the model can ask for what was struck (`Conversation.recall`), if it can.
        What each of the three saves and risks is in docs/results.md.
        """
        return cls._preset("careful", recall_tool, settings)

    @classmethod
    def balanced(cls, *, recall_tool: str | None = None, **settings: Unpack[PolicySettings]) -> "Policy":
        """Without the cap of `careful` on the chance of use: about twice its saving; also strikes long inputs of calls."""
        return cls._preset("balanced", recall_tool, settings)

    @classmethod
    def bold(cls, *, recall_tool: str | None = None, **settings: Unpack[PolicySettings]) -> "Policy":
        """As `balanced`, for less of the bill and twice its risk: best where the model can recall what was struck."""
        return cls._preset("bold", recall_tool, settings)

    @classmethod
    def named(cls, name: str) -> "Policy":
        """The policy of a name: `careful`, `balanced`, `bold`, `documents`."""
        if name == "documents":
            return cls.documents()
        if not isinstance(name, str) or name not in PRESET_RULES:
            known = ", ".join((*PRESET_RULES, "documents"))
            raise ValidationError(f"There is no policy named {shown(name)}. Names are {known}; Policy.load reads a file.")
        return cls._preset(name, None, {})

    @classmethod
    def _preset(cls, name: str, recall_tool: str | None, settings: Mapping[str, Any]) -> "Policy":
        rules = [replace(rule, recall_tool=recall_tool) if isinstance(rule, Faded) else rule for rule in PRESET_RULES[name]]
        return cls(**{"rules": rules, "schedule": "when_free", "words": EN, "strategy": "answer", **settings})

    @property
    def failures(self) -> FailureSigns:
        """By what results are known to report failures, which no rule strikes."""
        return FailureSigns(self.error_signs, self.error_words, self.is_error)

    def reports_failure(self, result: ToolResult, tool: str | None) -> bool:
        """Whether the result of a tool shows that it reports a failure; `is_error` is not asked."""
        known = self.tool_book.find(tool, {}) if tool else None
        return self.failures.in_result(result, "unknown" if known is None else "command" if known.is_terminal else "known tool")

    def made_rules(self, rules: Iterable[Rule | str] | None = None) -> tuple[Rule, ...]:
        """The rules as objects, for this project and in these words; others for one request."""
        return self._made_rules if rules is None else make_rules(rules, words=self.words, project_root=self.project_root)

    def settings(self, rules: Iterable[Rule | str] | None = None, *, lifts_all_system: bool = False) -> Settings:
        """What the engine makes requests with."""
        return Settings(
            self.made_rules(rules),
            self.strategy,
            self.protection,
            self.tool_book,
            fspath(self.project_root),
            lifts_all_system,
            self.failures,
        )

    def made_schedule(self, schedule: Schedule | str | None, model: Model | None, *, is_long: bool = False) -> Schedule:
        """The schedule of a request, with the prices of its model; `is_long` if its one-hour cache is written."""
        chosen = self.schedule if schedule is None else schedule
        if chosen is None:
            chosen = "eager" if model is None else "when_free"
        return find_schedule(chosen, model, is_long=is_long)


_DEFAULT = Policy()


EDITOR_POLICY = Policy(strategy="answer", words=EN)
"""The default where histories are resent whole: the model is told in English which calls were interrupted."""


def make_policy(given: Policy | str | None, default: Policy = _DEFAULT) -> Policy:
    """The policy that a caller gives: itself, its name, or the default for None."""
    if given is None:
        return default
    if isinstance(given, str):
        return Policy.named(given)
    if not isinstance(given, Policy):
        raise ValidationError(f"policy must be a redline.Policy or the name of one, not {shown(given)}")
    return given


_HOW_TO_GIVE_BLOBS = "Pass blobs=redline.blobs.open_blobs(…), with a folder or a bucket, or leave the rule out."


def check_blobs(rules: Iterable[Rule], blobs: object, how: str = _HOW_TO_GIVE_BLOBS) -> None:
    """Refuse rules that move results elsewhere where there is nowhere to move them; `how` says how a place is named."""
    needing = [rule.name for rule in rules if getattr(rule, "needs_blobs", False)]
    if needing and blobs is None:
        raise ValidationError(f"The rule {needing[0]} moves results to blobs, and there are none. {how}")
