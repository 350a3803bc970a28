"""The recorded sessions beside the project, for tests that want input nobody here wrote."""

import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

CORPUS = Path(__file__).resolve().parents[2] / "shared" / "corpus"

_EACH = 1 if os.environ.get("HYPOTHESIS_PROFILE") == "thorough" else 3
"""Of the sessions of each agent, one of so many is looked at: all of them take minutes."""

needs_corpus = pytest.mark.skipif(
    not (CORPUS / "MANIFEST.jsonl").exists(),
    reason=f"the recorded sessions are not here ({CORPUS.parent.name}/{CORPUS.name} beside the project)",
)


def corpus_rows(format_name: str | None = None, *, is_whole: bool = False) -> list[dict[str, Any]]:
    """The rows of the manifest, of one agent or all; in the gate a third of them, unless the whole is asked for. There are none
    where the corpus is absent."""
    manifest = CORPUS / "MANIFEST.jsonl"
    if not manifest.exists():
        return []
    rows = [json.loads(line) for line in manifest.read_text(encoding="utf-8").splitlines()]
    seen = Counter[str]()
    chosen = []
    for row in rows:
        if is_whole or seen[row["format"]] % _EACH == 0:
            chosen.append(row)
        seen[row["format"]] += 1
    return [row for row in chosen if format_name in (None, row["format"])]


def corpus_path(row: dict[str, Any]) -> Path:
    """The file a row speaks of."""
    return CORPUS / str(row["path"])
