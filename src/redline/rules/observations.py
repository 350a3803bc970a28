"""Observations as user text: which texts of the user answer an action that the assistant wrote in words, and its call."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from redline.errors import ValidationError
from redline.rules.text_actions import ACTIONS, ActionKind, find_call
from redline.tools import ToolBook
from redline.values.checks import short_repr
from redline.values.messages import ToolCall

AUTO, OFF = "auto", "off"
ObservationSetting = str | Sequence[str] | None
"""`auto`, a pattern, a list of patterns (`auto` among them is the known ones), or None."""


class KnownShape(NamedTuple):
    """How an agent writes actions and what comes of them; both must be there."""

    agent: str
    actions: tuple[ActionKind, ...]
    head: str = ""
    """What stands before the words of an observation."""
    tail: str = ""
    """What stands after them."""


SHAPES: tuple[KnownShape, ...] = (
    KnownShape("mini-swe-agent 1", ("block",), head=r"\A\s{0,9}<returncode>\s{0,9}-?\d{1,9}\s{0,9}</returncode>"),
    KnownShape("SWE-agent, text mode", ("block",), tail=r"\n?\(Current directory: [^\n]{0,300}\)\s{0,9}bash-\$\s{0,9}\Z"),
    KnownShape("SWE-agent 1, OpenHands", ("function", "tag", "block"), head=r"\A\s{0,9}OBSERVATION:[ \t]{0,9}\r?\n"),
    KnownShape("OpenHands", ("function",), head=r"\A\s{0,9}EXECUTION RESULT of \[[^\]\n]{1,80}\]:"),
    KnownShape("ReAct", ("line", "function", "tag"), head=r"\A\s{0,9}(?:Observation|OBSERVATION)(?: ?\d{1,4})?:"),
)
"""What `auto` knows. Without an action of the kind before it, a text of the same shape is what a person typed."""

_STATES_CODE = re.compile(r"\s{0,9}<returncode>")
_WINDOW = 600
"""So many characters at the beginning and at the end of a text are looked at."""
_MOST_CHARS = 500
_REPEATED_GROUP = re.compile(r"\)(?:[*+]|\{\d*,?\d*\})")
_WIDE_REPEAT = re.compile(r"\.(?:[*+]|\{\d*,\d*\})")
_ATOMS = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]", re.DOTALL)


class Found(NamedTuple):
    """An observation: the call that it answers, and its words without what the agent puts around them."""

    call: ToolCall | None
    bare: str


@dataclass(frozen=True, slots=True)
class Observations:
    """Which texts of the user are taken for results; a plain value, since checkpoints are named after it."""

    patterns: tuple[str, ...] = ()
    """`auto`, and patterns of somebody's own."""

    def __bool__(self) -> bool:
        return bool(self.patterns)

    @property
    def setting(self) -> ObservationSetting:
        """As a policy says it."""
        return self.patterns[0] if len(self.patterns) == 1 else self.patterns or None

    def find(self, text: str, said: Sequence[str], tools: ToolBook) -> Found | None:
        """What a text of the user observes, right after these texts of the assistant; None if a person typed it.

        A pattern of somebody's own is taken at its word: the action before it may be written in any way.
        """
        ends = text[:_WINDOW], text[-_WINDOW:]
        for pattern in self.patterns:
            if pattern == AUTO:
                found = _find_known(text, ends, said, tools)
                if found is not None:
                    return found
            elif own := _compiled(pattern).search(ends[0]):
                return Found(_call_in(said, ACTIONS, tools), text[own.end() if own.start() == 0 else 0 :])
            elif len(text) > _WINDOW and _compiled(pattern).search(text, len(text) - _WINDOW):
                return Found(_call_in(said, ACTIONS, tools), text)
        return None


NO_OBSERVATIONS = Observations()
AUTO_OBSERVATIONS = Observations((AUTO,))


def _find_known(text: str, ends: tuple[str, str], said: Sequence[str], tools: ToolBook) -> Found | None:
    for shape in SHAPES:
        head = _compiled(shape.head).search(ends[0]) if shape.head else None
        tail = _compiled(shape.tail).search(ends[1]) if shape.tail else None
        if (head or tail) and (call := _call_in(said, shape.actions, tools)):
            start = head.end() if head and not _STATES_CODE.match(ends[0]) else 0
            end = len(text) - len(ends[1]) + tail.start() if tail else len(text)
            return Found(call, text[start:end])
    return None


def _call_in(said: Sequence[str], kinds: Sequence[ActionKind], tools: ToolBook) -> ToolCall | None:
    """The latest action in what the assistant said."""
    calls = (find_call(text, kind, tools) for text in reversed(said) for kind in kinds)
    return next((call for call in calls if call is not None), None)


@lru_cache(maxsize=64)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


def make_observations(given: object) -> Observations:
    """The setting as patterns, checked."""
    match given:
        case None | "off":
            return NO_OBSERVATIONS
        case str():
            patterns: tuple[object, ...] = (given,)
        case Iterable():
            patterns = tuple(given)
        case _:
            raise ValidationError(
                f'observations must be "auto", a pattern, a list of patterns or None, not {short_repr(given)}'
            )
    for pattern in patterns:
        _check_pattern(pattern)
    return Observations(tuple(map(str, patterns)))


def _check_pattern(pattern: object) -> None:
    """A pattern is asked about every text of the user: it must be quick, and must not take all of them."""
    if not isinstance(pattern, str) or not pattern.strip():
        raise ValidationError(f"observations: a pattern must be a text, such as '^Result:', not {short_repr(pattern)}")
    if pattern == AUTO:
        return
    told = f"observations: the pattern {short_repr(pattern)}"
    if pattern == OFF:
        raise ValidationError(f'{told} switches off what the others say. Write observations = "off" alone.')
    try:
        made = re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as problem:
        raise ValidationError(f"{told} is no regular expression: {problem}") from problem
    plain = _ATOMS.sub("x", pattern)
    if len(pattern) > _MOST_CHARS or _REPEATED_GROUP.search(plain) or len(_WIDE_REPEAT.findall(plain)) > 1:
        raise ValidationError(
            f"{told} may take long: it must have at most {_MOST_CHARS} characters, at most one `.*`, and repeat no group. "
            "Write what observations begin with, such as '^Result:'."
        )
    if made.search(""):
        raise ValidationError(f"{told} fits every text. Write what observations begin with, such as '^Result:'.")
