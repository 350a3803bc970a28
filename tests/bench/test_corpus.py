"""A measurement on recorded sessions says so in a sentence where they are absent."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MEASUREMENTS = (
    ["breakpoints"],
    ["cache_model"],
    ["fit_worth"],
    ["frontier"],
    ["live_loop"],
    ["parts"],
    ["redaction"],
    ["replay"],
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
    assert reading - {"corpus", "worth_rows"} == {words[0] for words in MEASUREMENTS}


@pytest.mark.parametrize("words", MEASUREMENTS, ids=lambda words: words[0])
def test_without_recorded_sessions_a_measurement_ends_with_a_sentence(words, tmp_path):
    """R123: one line on what is missing and what to do instead; no traceback, nothing printed that looks like a result."""
    checkout = tmp_path / "checkout"
    shutil.copytree(ROOT / "bench", checkout / "bench", ignore=shutil.ignore_patterns("__pycache__"))
    command = [sys.executable, "-m", f"bench.{words[0]}", *words[1:]]
    done = subprocess.run(command, cwd=checkout, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.startswith("This measurement needs the recorded sessions")
    assert done.stderr.endswith("redline replay FOLDER\n")
    assert done.stderr.count("\n") == 1
