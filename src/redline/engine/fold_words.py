"""How folds are told to people: folded or referred, what became of the words, and where the whole can be read."""

import re
from typing import Literal

from redline.record.records import Strike

Deed = Literal["struck", "folded", "referred", "given back"]
"""What a strike does to its part."""

NOTHING_LOST = "nothing lost"
_NOTICE = re.compile(r"^\[.{1,200} left out; all of it: (.+)\]$", re.MULTILINE)
"""The line that a partial fold writes; see `redline.folds.fold.Output.notice`."""


def deed_of(strike: Strike) -> Deed:
    """`referred`: lines are left out because they are in sight; `folded`: smaller in another way; both lose nothing."""
    if strike.tokens_saved < 0:
        return "given back"
    if not strike.is_fold:
        return "struck"
    return "referred" if strike.refers else "folded"


def sizes_words(strike: Strike) -> str:
    """The tokens before and after, and of a fold that nothing is lost."""
    sizes = f"{strike.tokens_before:,} → {strike.tokens_after:,} tokens"
    return f"{sizes}; {fate_of_words(strike)}" if strike.is_fold else sizes


def fate_of_words(fold: Strike) -> str:
    """Whether the words are all there, or where the lines are that were left out."""
    if not fold.is_partial:
        return NOTHING_LOST
    wholes = wholes_named(fold)
    return f"lines left out, all of it: {', '.join(wholes)}" if wholes else "lines left out, its text says where they are"


def wholes_named(fold: Strike) -> tuple[str, ...]:
    """Where its notices say that the whole text can be read, each place once."""
    return tuple(dict.fromkeys(_NOTICE.findall(fold.replacement))) if isinstance(fold.replacement, str) else ()


def reference_words(fold: Strike) -> tuple[str, ...]:
    """For each reference the lines that were left out, counted from 1, and where they stand."""
    return tuple(
        f"lines {one.start + 1}–{one.start + one.count}: as in message {one.index}, from its line {one.line + 1} ({one.source})"
        for one in fold.refers
    )
