"""The recorded sessions beside the project, for measurements: those that a person or an agent made, with their real times."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

__all__ = ["CORPUS", "TIMED_AGENTS", "manifest_rows", "recorded_files"]

CORPUS = Path(__file__).resolve().parents[2] / "shared" / "corpus"
TIMED_AGENTS = ("claude-code", "codex", "opencode", "pi")
"""Agents whose files say when each message was said."""


def manifest_rows() -> list[dict[str, Any]]:
    """One row for each recorded session. Where the sessions are absent, the measurement ends here with a sentence."""
    manifest = CORPUS / "MANIFEST.jsonl"
    if not manifest.exists():
        sys.exit(
            "This measurement needs the recorded sessions, which are not part of the repository: "
            f"there is no {manifest.name} in ../shared/corpus beside the checkout. "
            "To measure your own sessions: redline replay FOLDER"
        )
    return [json.loads(line) for line in manifest.read_text(encoding="utf-8").splitlines()]


def recorded_files(agents: tuple[str, ...] = TIMED_AGENTS) -> Iterator[Path]:
    """The session files of these agents, without those that were written by hand."""
    for row in manifest_rows():
        if row["format"] in agents and "hand-made-fixture" not in row["features"]:
            yield CORPUS / row["path"]
