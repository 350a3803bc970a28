"""A measurement on recorded sessions says so in a sentence where they are absent."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.run import FROM_HERE

ROOT = Path(__file__).resolve().parents[2]
MEASUREMENTS = (
    ["breakpoints"],
    ["cache_breaks"],
    ["cache_model"],
    ["compaction"],
    ["fit_worth"],
    ["folds"],
    ["frontier"],
    ["hindsight"],
    ["holdout"],
    ["live_loop"],
    ["observations"],
    ["optimum"],
    ["parts"],
    ["redaction"],
    ["replay"],
    ["rereads"],
    ["reuse"],
    ["sent"],
    ["tokens"],
    ["tools"],
    ["peers.bill", "found.json"],
)


def test_every_measurement_on_recorded_sessions_is_here():
    """Whoever adds one that reads the manifest adds it above."""
    reading = {
        ".".join(path.relative_to(ROOT / "bench").with_suffix("").parts)
        for path in (ROOT / "bench").rglob("*.py")
        if re.search(r"recorded_files|manifest_rows|fitted_models|recorded_results", path.read_text(encoding="utf-8"))
    }
    beside = {"corpus", "worth_rows", "compaction_cases", "outcomes"}  # these serve others, or read public data before
    assert reading - beside | {"compaction"} == {words[0] for words in MEASUREMENTS}


@pytest.mark.parametrize("words", MEASUREMENTS, ids=lambda words: words[0])
def test_without_recorded_sessions_a_measurement_ends_with_a_sentence(words, tmp_path):
    """R123: one line on what is missing and what to do instead, exit code 2; nothing printed that looks like a result."""
    done = measure(words, tmp_path)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("This measurement needs the recorded sessions")
    assert f"there is no MANIFEST.jsonl with sessions in {tmp_path} " in done.stderr
    assert done.stderr.endswith("redline replay FOLDER\n")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("kind", ["absent", "a file", "without rows"])
def test_a_place_that_holds_no_session_is_told(kind, tmp_path):
    """R123: whatever is at the place of the recorded sessions instead of them."""
    place = tmp_path / "corpus"
    if kind == "a file":
        place.write_text("")
    if kind == "without rows":
        place.mkdir()
        (place / "MANIFEST.jsonl").write_text("")
    done = measure(["tools"], place)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)


def measure(words, corpus):
    """A measurement as a user starts it, with the recorded sessions at a place."""
    environment = {**os.environ, **FROM_HERE, "REDLINE_CORPUS": str(corpus)}
    command = [sys.executable, "-m", f"bench.{words[0]}", *words[1:]]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60)
