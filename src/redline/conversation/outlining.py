"""Outlines of conversations and of plain lists, and summaries held against them."""

from collections.abc import Sequence
from typing import Literal

from redline.outlines.checking import DEFAULT_APPENDIX, SummaryCheck, check_against
from redline.outlines.history import OutlineSettings
from redline.outlines.outline import DEFAULT_BUDGET, Outline, make_outline
from redline.policy.policy import CONVERSATION_POLICY, Policy, make_policy
from redline.policy.presets import PresetName
from redline.providers import read_history
from redline.tokens import Counter, check_counter, default_counter
from redline.values.payloads import Payload

__all__ = ["OUTLINE", "check_summary", "outline", "outline_settings"]

OUTLINE: Literal["outline"] = "outline"
"""What takes the place of a function that summarises."""


def outline(
    messages: Sequence[Payload],
    *,
    format: str = "auto",
    budget_tokens: int = DEFAULT_BUDGET,
    policy: Policy | PresetName | None = None,
    counter: Counter | None = None,
) -> Outline:
    """What an agent needs to go on without these messages, in at most so many tokens, without a model.

    What the user said word for word, open to-dos, what failed, files with their last change, what was found and decided, and
    names that are likely to be said again: each with its place, such as `#12.0` for the first part of message 12.
    """
    _, history = read_history(messages, format)
    settings = outline_settings(make_policy(policy, CONVERSATION_POLICY))
    return make_outline(enumerate(history), settings=settings, budget_tokens=budget_tokens, counter=_checked(counter))


def check_summary(
    messages: Sequence[Payload],
    summary: str,
    *,
    format: str = "auto",
    budget_tokens: int = DEFAULT_APPENDIX,
    policy: Policy | PresetName | None = None,
    counter: Counter | None = None,
) -> SummaryCheck:
    """What a summary of these messages, whoever wrote it, leaves out; `appendix` adds as much of it as has room."""
    _, history = read_history(messages, format)
    settings = outline_settings(make_policy(policy, CONVERSATION_POLICY))
    return check_against(summary, enumerate(history), settings=settings, budget_tokens=budget_tokens, counter=_checked(counter))


def outline_settings(
    policy: Policy, *, generation: int | None = None, recall_tool: str | None = None, project_root: str = ""
) -> OutlineSettings:
    """How a policy has histories read. The model is told how to read the record where a rule names its tool for it."""
    settings = policy.settings()
    named = (getattr(rule, "recall_tool", None) for rule in settings.rules)
    return OutlineSettings(
        words=policy.words,
        tools=settings.tools,
        failures=settings.failures,
        observations=settings.observations,
        project_root=settings.project_root or project_root,
        generation=generation,
        recall_tool=recall_tool or next(filter(None, named), None),
    )


def _checked(counter: Counter | None) -> Counter:
    if counter is not None:
        check_counter(counter)
    return counter or default_counter()
