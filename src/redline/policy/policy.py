"""The settings of a conversation: which rules mark, when marks are applied, how interrupted calls are repaired."""

import inspect
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from os import PathLike, fspath
from pathlib import Path
from typing import Any, Literal, TypedDict, Unpack, get_args

from redline.engine.derived_state import Settings
from redline.errors import ValidationError
from redline.files import check_path
from redline.policy.file import policy_toml, read_policy_file, read_policy_table
from redline.policy.presets import DEFAULT_PRESET, PRESETS, PresetName
from redline.prices.find import Model
from redline.repair import Strategy
from redline.rules import DEFAULT_RULES, make_rules
from redline.rules.facts import Seen
from redline.rules.faded import Faded
from redline.rules.folded import Folded
from redline.rules.observations import NO_OBSERVATIONS, Observations, ObservationSetting, make_observations
from redline.rules.protection import Protection
from redline.rules.rule import Rule
from redline.schedules import SCHEDULES, Schedule, ScheduleName, find_schedule
from redline.tools import DEFAULT, ToolBook
from redline.tools.failures import KNOWN_SIGNS, FailureSigns, SignSet
from redline.values.checks import short_repr
from redline.values.messages import ToolResult
from redline.values.words import EN, ZH, Placeholders, make_words

Compacting = Literal["outline"] | Callable[[list[Any]], Any]
"""What makes a text of messages: the record itself, or a function, which with asyncio may be a coroutine function."""


class PolicySettings(TypedDict, total=False):
    """What a preset takes besides: the fields of a `Policy`."""

    rules: Sequence[Rule | str]
    schedule: Schedule | ScheduleName | None
    words: Placeholders
    strategy: Strategy
    protection: Protection
    project_root: str | PathLike[str]
    tool_book: ToolBook
    is_error: Callable[[Seen], object] | None
    error_words: Sequence[str]
    error_signs: SignSet
    observations: ObservationSetting
    compact_at: float | None
    compact: Compacting


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Policy:
    """What is struck, when, and in which words. Checked when it is made; a conversation has one for all its requests."""

    rules: Sequence[Rule | str] = DEFAULT_RULES
    """What may go: names, or rules with settings of their own, in the order in which they mark."""
    schedule: Schedule | ScheduleName | None = None
    """When marks are applied. None: `when_free` once the model is known, `eager` as long as nothing is known of prices."""
    words: Placeholders = EN
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
    observations: ObservationSetting = None
    """Which texts of the user are results, because they answer what an agent without native tools did: `auto` for those of
    known agents, a pattern that they begin or end with, or several."""
    compact_at: float | None = None
    """Past this share of the model's window older messages give way to an outline or a summary, at the next moment when that
    costs no cache, or cannot wait; None: they do not."""
    compact: Compacting = "outline"
    """What then takes their place: the outline that the record gives, or a function that is given the messages and returns
    a summary. It is asked in the background; where the window ends before it answers, the outline takes its place."""
    failures: FailureSigns = field(init=False, compare=False, default=KNOWN_SIGNS)
    """By what results are known to report failures, which no rule strikes."""
    _made_rules: tuple[Rule, ...] = field(init=False, compare=False)
    _observations: Observations = field(init=False, compare=False, default=NO_OBSERVATIONS)
    _made_settings: dict[bool, Settings] = field(init=False, compare=False, default_factory=dict)
    """By `lifts_all_system`, what the engine makes requests with."""

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
        if self.compact_at is not None:
            is_share = isinstance(self.compact_at, int | float) and not isinstance(self.compact_at, bool)
            if not is_share or not 0 < self.compact_at <= 1:
                raise ValidationError(
                    f"compact_at must be a share of the window, such as 0.8, not {short_repr(self.compact_at)}"
                )
        if self.compact != "outline" and not callable(self.compact):
            said = short_repr(self.compact)
            raise ValidationError(f'compact must be "outline", or a function that summarises messages, not {said}')
        object.__setattr__(self, "failures", FailureSigns(self.error_signs, self.error_words, self.is_error))
        object.__setattr__(self, "error_words", self.failures.words)
        made_observations = make_observations(self.observations)
        object.__setattr__(self, "_observations", made_observations)
        object.__setattr__(self, "observations", made_observations.setting)
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
        return cls._preset("documents", settings)

    @classmethod
    def folded(cls, *, recall_tool: str | None = None, **settings: Unpack[PolicySettings]) -> "Policy":
        """Strikes nothing: makes results smaller before they are first sent, and refers to lines that are in sight.

        The other presets do this, too. With `recall_tool` the model can read back lines that say nothing and were left out.
        """
        return cls._preset("folded", settings, recall_tool)

    @classmethod
    def careful(cls, *, recall_tool: str | None = None, **settings: Unpack[PolicySettings]) -> "Policy":
        """Strikes results that will hardly be used again, and old reasoning, when that is free or pays.

        `recall_tool` is the name under which the model can ask for what was struck or left out (`Conversation.recall`), if it
        can. What each preset saves and risks is in docs/results.md.
        """
        return cls._preset("careful", settings, recall_tool)

    @classmethod
    def balanced(cls, *, recall_tool: str | None = None, **settings: Unpack[PolicySettings]) -> "Policy":
        """Without the cap of `careful` on the chance of use: about twice its saving; also strikes long inputs of calls."""
        return cls._preset("balanced", settings, recall_tool)

    @classmethod
    def bold(cls, *, recall_tool: str | None = None, **settings: Unpack[PolicySettings]) -> "Policy":
        """As `balanced`, for less of the bill and twice its risk: best where the model can recall what was struck."""
        return cls._preset("bold", settings, recall_tool)

    @classmethod
    def named(cls, name: PresetName) -> "Policy":
        """The preset of a name: `folded`, `careful`, `balanced`, `bold`, `stale`, `superseded`, `documents` or `masking`."""
        return cls._preset(name)

    @classmethod
    def _preset(cls, name: str, settings: Mapping[str, Any] | None = None, recall_tool: str | None = None) -> "Policy":
        preset = PRESETS.get(DEFAULT_PRESET if name == "default" else name) if isinstance(name, str) else None
        if preset is None:
            raise ValidationError(
                f"There is no policy named {short_repr(name)}. Names are {', '.join(PRESETS)}; Policy.load reads a file."
            )
        made = read_policy_table(preset.table, Path())
        if recall_tool is not None:
            rules, can_recall = make_rules(made["rules"]), (Faded, Folded)
            made["rules"] = [replace(one, recall_tool=recall_tool) if isinstance(one, can_recall) else one for one in rules]
        return cls(**{**made, **(settings or {})})

    def with_whole_in(self, folder: str | PathLike[str]) -> "Policy":
        """This policy, whose rules `folded` name a folder in which the model can read whole results, unless they say how."""

        def placed(rule: Rule) -> Rule:
            is_open = isinstance(rule, Folded) and rule.recall_tool is None and rule.whole_in is None
            return replace(rule, whole_in=folder) if isinstance(rule, Folded) and is_open else rule

        rules = tuple(map(placed, self._made_rules))
        return self if rules == self._made_rules else replace(self, rules=rules)

    def reports_failure(self, result: ToolResult, tool: str | None) -> bool:
        """Whether the result of a tool shows that it reports a failure; `is_error` is not asked."""
        known = self.tool_book.find(tool, {}) if tool else None
        return self.failures.in_result(result, "unknown" if known is None else "command" if known.is_terminal else "known tool")

    def made_rules(self, rules: Iterable[Rule | str] | None = None) -> tuple[Rule, ...]:
        """The rules as objects, for this project and in these words; others for one request."""
        return self._made_rules if rules is None else make_rules(rules, words=self.words, project_root=self.project_root)

    def settings(self, rules: Iterable[Rule | str] | None = None, *, lifts_all_system: bool = False) -> Settings:
        """What the engine makes requests with."""
        if rules is None and (known := self._made_settings.get(lifts_all_system)):
            return known
        made = Settings(
            self.made_rules(rules),
            self.strategy,
            self.protection,
            self.tool_book,
            fspath(self.project_root),
            lifts_all_system,
            self.failures,
            self._observations,
            self.words,
        )
        if rules is None:
            self._made_settings[lifts_all_system] = made
        return made

    def made_schedule(
        self, schedule: Schedule | ScheduleName | None, model: Model | None, *, is_long: bool = False
    ) -> Schedule:
        """The schedule of a request, with the prices of its model; `is_long` if its one-hour cache is written."""
        chosen = self.schedule if schedule is None else schedule
        if chosen is None:
            chosen = "eager" if model is None else "when_free"
        return SCHEDULES["eager"] if chosen == "eager" else find_schedule(chosen, model, is_long=is_long)


_DEFAULT = Policy()


CONVERSATION_POLICY = Policy(words=replace(EN, tools_heading=ZH.tools_heading))
"""The default of a conversation: in English, but for the heading of its tools, which the documents spell out."""

EDITOR_POLICY = Policy(strategy="answer", observations="auto")
"""The default where histories are resent whole: the model is told which calls were interrupted, and agents are known that have
no native calls."""


def make_policy(given: Policy | str | None, default: Policy = _DEFAULT) -> Policy:
    """The policy that a caller gives: a policy, the name of a preset, or the default for None."""
    if given is None or isinstance(given, Policy):
        return default if given is None else given
    if not isinstance(given, str):
        raise ValidationError(f"policy must be a redline.Policy or the name of one, not {short_repr(given)}")
    return Policy.named(given)  # type: ignore[arg-type]  # checked there


def find_policy(name: str) -> Policy:
    """A preset in English, or the policy of a file, whose interrupted calls are answered unless the file says otherwise."""
    if name in (*PRESETS, "default"):
        return replace(make_policy(name), words=EN)
    if not check_path("A policy's file", name).exists() and os.sep not in name and "." not in name:
        raise ValidationError(f"There is no policy named {name!r}, and no such file. Names are {', '.join(PRESETS)}.")
    return Policy.load(name, base=Policy(strategy="answer"))


def as_replayed(policy: Policy) -> Policy:
    """A policy as it works behind `redline run`, where agents can read whole results. A replay writes no file."""
    return policy.with_whole_in(_USUAL_WHOLE_IN)


_USUAL_WHOLE_IN = "/home/user/.redline/whole"
"""Notices with this path are about as long as they are for everybody."""


def says_of(kind: type) -> str:
    """The first paragraph of the docstring of a rule or a schedule."""
    return " ".join((inspect.getdoc(kind) or "").partition("\n\n")[0].split())


_HOW_TO_GIVE_BLOBS = "Pass blobs=redline.record.blobs.open_blobs(…), with a folder or a bucket, or leave the rule out."


def check_blobs(rules: Iterable[Rule], blobs: object, how: str = _HOW_TO_GIVE_BLOBS) -> None:
    """Refuse rules that move results elsewhere where there is nowhere to move them; `how` says how a place is named."""
    needing = [rule.name for rule in rules if getattr(rule, "needs_blobs", False)]
    if needing and blobs is None:
        raise ValidationError(f"The rule {needing[0]} moves results to blobs, and there are none. {how}")
