"""Results without words of their own: agents point to another result instead, or say that the words are gone."""

import re
from functools import lru_cache
from typing import Literal, NamedTuple

from redline.values.messages import Text, ToolResult

__all__ = ["SENTENCES", "PointerKind", "Sentence", "pointer_kind", "points_to_latest"]

PointerKind = Literal["earlier", "latest", "gone"]
"""Where the words are: in the earlier result of the same call or file, in the latest read of the file, or nowhere."""


class Sentence(NamedTuple):
    """What an agent says in the place of words."""

    agent: str
    """With the versions that say it."""
    kind: PointerKind
    pattern: str
    """A regular expression; a space stands for any white space."""


SENTENCES: tuple[Sentence, ...] = (
    Sentence("Claude Code 2.1.112 to 2.1.290", "earlier", r"Wasted call\W{1,3}file unchanged since your last Read"),
    Sentence("Claude Code 2.1.90", "earlier", r"File unchanged since last read\. The content from the earlier Read"),
    Sentence("Claude Code 2.1.215 to 2.1.290", "earlier", r"This file is already in your context \(see .{1,300} above\)"),
    Sentence("Claude Code 2.1.326", "earlier", r"Image not read again: Read has already returned this unchanged image"),
    Sentence("Claude Code 2.1.326", "earlier", r"catalog is unchanged since the earlier .{1,80} result in this conversation"),
    Sentence("Cline 3", "latest", r"\[outdated - see the latest file content\]"),
    Sentence("Cline 1", "latest", r"This file read has been removed to save space in the context window\. Refer to the latest"),
    Sentence("Claude Code, opencode", "gone", r"\A\W*Old tool result content cleared\W*\Z"),
    Sentence("Claude Code 2.1", "gone", r"\A\W*Orphaned tool result removed due to conversation resume\W*\Z"),
    Sentence(
        "any",
        "earlier",
        r"\b(?:file|content|output|result)s? (?:is |are |has |have |was )?(?:unchanged|not changed|identical)\b"
        r"[^.]{0,60}\b(?:last|earlier|previous|prior|above|already)\b",
    ),
    Sentence(
        "any",
        "earlier",
        r"\b(?:refer to|see|look at|use) (?:the |that |your )?(?:earlier|previous|prior|last|above)"
        r" (?:tool_result|tool result|tool call|result|read|output|response)\b",
    ),
    Sentence(
        "any",
        "earlier",
        r"\balready (?:been )?(?:read|shown|provided|in (?:the |your )?context)\b[^.]{0,60}"
        r"\b(?:above|earlier|previously|in (?:the |this )?conversation)\b",
    ),
)
"""Those of one agent are as its program has them; those of `any` are how others would say it."""

_MOST_CHARS = 600
"""A longer result holds words of its own."""
_MOST_REMEMBERED = 32
"""Texts that are remembered: several policies are asked about a message one after the other."""

_PATTERNS: dict[PointerKind, re.Pattern[str]] = {
    kind: re.compile(
        "|".join(one.pattern.replace(" ", r"\s+") for one in SENTENCES if one.kind == kind), re.IGNORECASE | re.DOTALL
    )
    for kind in ("latest", "gone", "earlier")
}


def pointer_kind(result: ToolResult) -> PointerKind | None:
    """Where a result says its words are, if it says no more than that; None for a result with words of its own."""
    if sum(len(part.text) if isinstance(part, Text) else _MOST_CHARS + 1 for part in result.parts) > _MOST_CHARS:
        return None
    return _kind_of_text(result.text)


@lru_cache(maxsize=_MOST_REMEMBERED)
def _kind_of_text(text: str) -> PointerKind | None:
    return next((kind for kind, pattern in _PATTERNS.items() if pattern.search(text)), None)


def points_to_latest(text: str) -> bool:
    """Whether a result of several files sends the model to the latest read of one of them."""
    return "latest" in text and _PATTERNS["latest"].search(text) is not None
