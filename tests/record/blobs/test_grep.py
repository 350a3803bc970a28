"""Lines in which a regular expression is found, within a time."""

import json
import re
import subprocess
import sys
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redline.errors import ExecutionError, ValidationError
from redline.record.blobs import grep
from redline.record.blobs.grep import MAX_PLACES, find_matches, grep_lines


@pytest.mark.parametrize("pattern", ["error", "err.r|warn", r"\berror\.", "^error", "(?i)ERROR", "e[r]+or", "(err|warn)or*"])
def test_matching_lines_are_found(pattern):
    """By simple patterns, which are matched here, and by others, which are matched by a program."""
    lines = ["an error.", "fine", "error. twice: error.", "a warning"]
    expected = [(number, line) for number, line in enumerate(lines) if re.search(pattern, line)]
    assert grep_lines(pattern, lines) == expected
    assert expected


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|a)*b", "a*a*a*a*a*a*a*a*b", "(a?){40}a{40}b", r"(a*)\1*\1*\1*b"])
def test_a_pattern_that_would_run_for_ever_is_ended(pattern):
    """After the time it was given, with an error that says what to do."""
    began = time.monotonic()
    with pytest.raises(ValidationError, match="simpler pattern"):
        grep_lines(pattern, ["a" * 5000 + "!"], max_seconds=0.5)
    assert time.monotonic() - began < 5


@given(st.text(st.characters(codec=None, exclude_characters="*+?{}()[]\\"), max_size=40), st.text(max_size=50))
def test_simple_patterns_find_what_python_finds(pattern, line):
    """They are taken as they are."""
    assert bool(grep_lines(pattern, [line])) == bool(re.search(pattern, line))


def test_of_long_lines_the_surroundings_are_shown():
    """Of each match that the surroundings of an earlier one do not show."""
    line = "x" * 1000 + "needle" + "y" * 200 + "needle" + "z" * 2000 + "needle"
    shown = grep_lines("needle", [line])
    assert [number for number, _ in shown] == [0, 0]
    assert shown[0][1] == f"…{line[900:1500]}…"
    assert shown[1][1] == "…" + line[-106:]


@pytest.mark.parametrize("pattern", ["(", "[", "a**", r"\q"])
def test_a_bad_pattern_is_refused(pattern):
    """The error says why."""
    with pytest.raises(ValidationError, match="no regular expression"):
        grep_lines(pattern, ["a"])


def test_without_a_python_to_run_simple_patterns_still_work(monkeypatch, tmp_path):
    """As in a program that was packed into one file; the error for others says so."""
    monkeypatch.setattr("sys.executable", str(tmp_path / "none"))
    assert grep_lines("a.c", ["abc"]) == [(0, "abc")]
    with pytest.raises(ExecutionError, match="needs no program"):
        grep_lines("ab*", ["abc"])


@pytest.mark.parametrize("pattern", ["." * 3000 + "x", r"\w" * 2000 + "x"])
def test_a_long_simple_pattern_is_ended_too(pattern):
    """Without repetitions a pattern still takes its own length at each character; on megabytes that is minutes (R62)."""
    began = time.monotonic()
    with pytest.raises(ValidationError, match="simpler pattern"):
        grep_lines(pattern, ["y" * 3_000_000], max_seconds=0.5)
    assert time.monotonic() - began < 60  # the search itself would take ten times as long


def test_a_pattern_that_is_too_long_is_refused():
    """It says how long it may be (R62)."""
    with pytest.raises(ValidationError, match=r"grep has 1,000,000 characters; 5,000 is the most"):
        grep_lines("a" * 1_000_000, ["a"])


def test_plain_text_is_found_in_any_amount():
    """Words without special characters need no program, however much there is to look through (R62)."""
    line = "y" * 5_000_000 + "the needle, in a haystack"
    ((number, shown),) = grep_lines("needle, in a", ["", line])
    assert number == 1
    assert "the needle, in a haystack" in shown


def test_matches_have_line_and_place():
    """Numbered from 0; those close after an earlier one are left out."""
    assert find_matches("b", ["abc", "x", "bb", "b....b"], width=5) == {"found": [(0, 1), (2, 0), (3, 0), (3, 5)]}


def test_a_bad_pattern_is_an_find_matches():
    """Also one that is nested too deeply or asks for too many repetitions."""
    for pattern in ("(", "(" * 5000, "a{99999999999999999999}", "\\1"):
        assert find_matches(pattern, ["a"], width=5)["error"]


def test_there_is_an_end_to_it():
    """However many matches there are."""
    assert len(find_matches("a", ["a"] * (MAX_PLACES + 5), width=5)["found"]) == MAX_PLACES


def test_it_is_a_program():
    """It reads and writes JSON and needs nothing but Python's own library."""
    question = json.dumps(["\\ud83d|b+", ["abb", "\ud83d"], 5])
    program = [sys.executable, "-I", "-S", grep.__file__]
    done = subprocess.run(program, input=question, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == {"found": [[0, 1], [1, 0]]}
