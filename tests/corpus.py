"""The recorded sessions beside the project, for tests that want input nobody here wrote."""

import json
from pathlib import Path
from typing import Any

import pytest

CORPUS = Path(__file__).resolve().parents[2] / "shared" / "corpus"

needs_corpus = pytest.mark.skipif(
    not (CORPUS / "MANIFEST.jsonl").exists(),
    reason=f"the recorded sessions are not here ({CORPUS.parent.name}/{CORPUS.name} beside the project)",
)


def corpus_rows(format_name: str | None = None) -> list[dict[str, Any]]:
    """The rows of the manifest, of one agent or all; none where the corpus is absent."""
    manifest = CORPUS / "MANIFEST.jsonl"
    if not manifest.exists():
        return []
    rows = [json.loads(line) for line in manifest.read_text(encoding="utf-8").splitlines()]
    return [row for row in rows if format_name in (None, row["format"])]


def corpus_path(row: dict[str, Any]) -> Path:
    """The file a row speaks of."""
    return CORPUS / str(row["path"])
