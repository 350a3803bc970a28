"""The recorded sessions beside the project, for measurements: those that a person or an agent made, with their real times."""

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

__all__ = ["CORPUS", "TIMED_AGENTS", "manifest_rows", "recorded_files"]

_ELSEWHERE = os.environ.get("REDLINE_CORPUS")
CORPUS = Path(_ELSEWHERE or Path(__file__).resolve().parents[2] / "shared" / "corpus")
"""`REDLINE_CORPUS` names another folder."""
TIMED_AGENTS = ("claude-code", "codex", "opencode", "pi")
"""Agents whose files say when each message was said."""


def manifest_rows() -> list[dict[str, Any]]:
    """One row for each recorded session. Without the sessions, the measurement says so in one line and exits with 2."""
    manifest = CORPUS / "MANIFEST.jsonl"
    try:
        rows = [json.loads(line) for line in manifest.read_text(encoding="utf-8").splitlines()]
    except (FileNotFoundError, NotADirectoryError):
        rows = []
    if not rows:
        sys.stderr.write(
            "This measurement needs the recorded sessions, which are not part of the repository: there is no "
            f"{manifest.name} with sessions in {_ELSEWHERE or '../shared/corpus beside the checkout'} (REDLINE_CORPUS names "
            "another folder). To measure your own sessions: redline replay FOLDER\n"
        )
        sys.exit(2)
    return rows


def recorded_files(agents: tuple[str, ...] = TIMED_AGENTS) -> Iterator[Path]:
    """The session files of these agents, without those that were written by hand."""
    for row in manifest_rows():
        if row["format"] in agents and "hand-made-fixture" not in row["features"]:
            yield CORPUS / row["path"]
