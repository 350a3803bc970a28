"""The recorded sessions beside the project, for measurements: those that a person or an agent made, with their real times."""

import json
from collections.abc import Iterator
from pathlib import Path

__all__ = ["CORPUS", "TIMED_AGENTS", "recorded_files"]

CORPUS = Path(__file__).resolve().parents[2] / "shared" / "corpus"
TIMED_AGENTS = ("claude-code", "codex", "opencode", "pi")
"""Agents whose files say when each message was said."""


def recorded_files(agents: tuple[str, ...] = TIMED_AGENTS) -> Iterator[Path]:
    """The session files of these agents, without those that were written by hand."""
    for line in (CORPUS / "MANIFEST.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        if row["format"] in agents and "hand-made-fixture" not in row["features"]:
            yield CORPUS / row["path"]
