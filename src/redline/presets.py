"""Policies by name: what each strikes, in a sentence; the same names in `run`, `proxy`, `replay`, `show` and the inspector."""

import inspect
import os
from collections.abc import Callable
from dataclasses import dataclass

from redline.errors import ValidationError
from redline.files import check_path
from redline.policy import Policy
from redline.rules.masked_results import MaskedResults
from redline.rules.stale_terminal import StaleTerminal
from redline.rules.superseded_reads import SupersededReads
from redline.values.words import EN

__all__ = ["DEFAULT_PRESET", "PRESETS", "Preset", "find_policy", "says_of"]

DEFAULT_PRESET = "careful"
"""What `redline run` and `redline proxy` do unless they are told otherwise; the name `default` means this one."""


@dataclass(frozen=True, slots=True)
class Preset:
    """A policy that has a name."""

    name: str
    says: str
    make: Callable[[], Policy]


_STALE = (StaleTerminal(text_blocks=True), "historical_reads")


def _stale() -> Policy:
    return Policy(rules=_STALE, words=EN, strategy="answer")


def _superseded() -> Policy:
    return Policy(rules=(*_STALE, SupersededReads(until_read_again=False)), words=EN, strategy="answer")


def _masking() -> Policy:
    return Policy(rules=(MaskedResults(keep_recent=10),), words=EN, strategy="answer")


PRESETS: dict[str, Preset] = {
    preset.name: preset
    for preset in (
        Preset("careful", "Results that will hardly be used again, and old reasoning; a miss counts for much.", Policy.careful),
        Preset("balanced", "As careful, and long inputs of calls; a miss counts.", Policy.balanced),
        Preset("bold", "As balanced; a miss counts for little.", Policy.bold),
        Preset("stale", "Old command output and old reads of files, when the cache loses nothing by it.", _stale),
        Preset("superseded", "As stale, and reads of files that were changed since.", _superseded),
        Preset("documents", "As stale, at once, whatever the cache loses.", lambda: Policy.documents(words=EN)),
        Preset("masking", "All results but the last ten, when the cache loses nothing by it.", _masking),
    )
}


def find_policy(name: str) -> Policy:
    """A policy by its name, or from its file; an interrupted call is answered unless the file says otherwise."""
    name = DEFAULT_PRESET if name == "default" else name
    if name in PRESETS:
        return PRESETS[name].make()
    if not check_path("A policy's file", name).exists() and os.sep not in name and "." not in name:
        raise ValidationError(f"There is no policy named {name!r}, and no such file. Names are {', '.join(PRESETS)}.")
    return Policy.load(name, base=Policy(strategy="answer"))


def says_of(kind: type) -> str:
    """What a rule or a schedule does: the first paragraph of its docstring."""
    return " ".join((inspect.getdoc(kind) or "").partition("\n\n")[0].split())
