"""Policies by name, for looking at a session under them: what each strikes, in a sentence."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from redline.policy import Policy
from redline.rules.faded import FADED_PRESETS
from redline.rules.masked_results import MaskedResults
from redline.rules.superseded_reads import SupersededReads
from redline.values.words import EN
from redline.wire.editing import wire_policy

__all__ = ["PRESETS", "Preset", "says_of"]


@dataclass(frozen=True, slots=True)
class Preset:
    """A policy that has a name."""

    name: str
    says: str
    make: Callable[[], Policy]


def _superseded() -> Policy:
    plain = wire_policy()
    return Policy(rules=(*plain.rules, SupersededReads(until_read_again=False)), words=EN)


def _faded(preset: str) -> Policy:
    return Policy(rules=(FADED_PRESETS[preset],), words=EN)


def _masking() -> Policy:
    return Policy(rules=(MaskedResults(keep_recent=10),), words=EN)


PRESETS: dict[str, Preset] = {
    preset.name: preset
    for preset in (
        Preset("default", "Old command output and old reads of files, when the cache loses nothing by it.", wire_policy),
        Preset("documents", "The same, at once, whatever the cache loses.", lambda: Policy.documents(words=EN)),
        Preset("superseded", "As default, and reads of files that were changed since.", _superseded),
        Preset("careful", "Results that will hardly be used again; a miss counts for much.", partial(_faded, "careful")),
        Preset("balanced", "Results that will hardly be used again; a miss counts.", partial(_faded, "balanced")),
        Preset("bold", "Results that will hardly be used again; a miss counts for little.", partial(_faded, "bold")),
        Preset("masking", "All results but the last ten, when the cache loses nothing by it.", _masking),
    )
}
"""The first is what `redline proxy` does unless it is told otherwise."""


def says_of(kind: type) -> str:
    """What a rule or a schedule does: the first paragraph of its docstring."""
    return " ".join((inspect.getdoc(kind) or "").partition("\n\n")[0].split())
