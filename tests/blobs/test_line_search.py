"""Where a pattern is found in lines."""

import json
import subprocess
import sys

from redline.blobs import line_search
from redline.blobs.line_search import MAX_PLACES, answer


def test_matches_have_line_and_place():
    """Numbered from 0; those close after an earlier one are left out."""
    assert answer("b", ["abc", "x", "bb", "b....b"], width=5) == {"found": [(0, 1), (2, 0), (3, 0), (3, 5)]}


def test_a_bad_pattern_is_an_answer():
    """Also one that is nested too deeply or asks for too many repetitions."""
    for pattern in ("(", "(" * 5000, "a{99999999999999999999}", "\\1"):
        assert answer(pattern, ["a"], width=5)["error"]


def test_there_is_an_end_to_it():
    """However many matches there are."""
    assert len(answer("a", ["a"] * (MAX_PLACES + 5), width=5)["found"]) == MAX_PLACES


def test_it_is_a_program():
    """It reads and writes JSON and needs nothing but Python's own library."""
    question = json.dumps(["\\ud83d|b+", ["abb", "\ud83d"], 5])
    program = [sys.executable, "-I", "-S", line_search.__file__]
    done = subprocess.run(program, input=question, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == {"found": [[0, 1], [1, 0]]}
