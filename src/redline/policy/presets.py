"""Policies by name: the one table, from which Python, commands, proxy, replay and inspector take them."""

from dataclasses import dataclass
from typing import Any, Literal

PresetName = Literal["folded", "careful", "balanced", "bold", "stale", "superseded", "documents", "masking", "default"]
"""The names in `PRESETS`, for type checkers, and `default`."""


@dataclass(frozen=True, slots=True)
class Preset:
    """A policy that has a name."""

    name: str
    says: str
    """What it strikes, in a sentence."""
    table: dict[str, Any]
    """Its settings, as a `redline.toml` says them."""
    most_strict: float = 0.0
    """Above this share of requests that miss something by the strict measure replay does not advise it; 0: never."""
    most_quoted: float = 0.0
    """Nor above this share of strikes that are quoted or read again later."""


_ENGLISH = {"words": "en", "strategy": "answer", "observations": "auto"}
_OLD_REASONING = {"name": "old_reasoning", "keep_recent": 3, "bound_too": True}
_FOLDED = "folded"
_CAREFUL = {"name": "faded", "penalty_tokens": 45_000, "max_chance": 0.15, "min_age": 3}
_BALANCED = {"name": "faded", "penalty_tokens": 36_000, "inputs": True}
_BOLD = {"name": "faded", "penalty_tokens": 7_500, "inputs": True}
_STALE = [{"name": "stale_terminal", "text_blocks": True}, "historical_reads"]
_SUPERSEDED = {"name": "superseded_reads", "until_read_again": False}
_MASKED = {"name": "masked_results", "keep_recent": 10}

PRESETS: dict[str, Preset] = {
    preset.name: preset
    for preset in (
        Preset(
            "folded",
            "Nothing is lost: results are made smaller before they are first sent, and lines in sight are referred to.",
            {"rules": [_FOLDED], "schedule": "when_free", **_ENGLISH},
            most_strict=0.01,
            most_quoted=0.01,
        ),
        Preset(
            "careful",
            "Results that will hardly be used again, and old reasoning; a miss counts for much.",
            {"rules": [_FOLDED, _CAREFUL, _OLD_REASONING], "schedule": "when_free", **_ENGLISH},
            most_strict=0.04,
            most_quoted=0.1,
        ),
        Preset(
            "balanced",
            "What careful strikes, and long inputs of calls; a miss counts.",
            {"rules": [_FOLDED, _BALANCED, _OLD_REASONING], "schedule": "when_free", **_ENGLISH},
            most_strict=0.04,
            most_quoted=0.1,
        ),
        Preset(
            "bold",
            "What balanced strikes; a miss counts for little.",
            {"rules": [_FOLDED, _BOLD, _OLD_REASONING], "schedule": "when_free", **_ENGLISH},
            most_strict=0.073,
            most_quoted=0.15,
        ),
        Preset(
            "stale",
            "Old command output and old reads of files, when the cache loses nothing by it.",
            {"rules": _STALE, **_ENGLISH},
        ),
        Preset(
            "superseded",
            "What stale strikes, and reads of files that were changed since.",
            {"rules": [*_STALE, _SUPERSEDED], **_ENGLISH},
        ),
        Preset(
            "documents",
            "What stale strikes, at once, whatever the cache loses.",
            {"schedule": "eager", "error_signs": "documents", "words": "documents", "strategy": "drop"},
        ),
        Preset(
            "masking",
            "All results but the last ten, when the cache loses nothing by it.",
            {"rules": [_MASKED], **_ENGLISH},
        ),
    )
}
"""The presets by name, those that are advised first, the safest of them first. `python -m bench.frontier` prints what each
saves and risks."""

DEFAULT_PRESET = "careful"
"""What `redline run` and `redline proxy` do unless they are told otherwise; the name `default` means this one."""
