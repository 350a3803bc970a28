"""What search programs print comes back, whatever the paths and the lines are, and is shorter."""

import time

from hypothesis import given
from hypothesis import strategies as st

from redline.folds import FOLDS
from tests.effort import tries
from tests.folds.folding import check_fold

PATHS = (
    "src/a.py",
    "./my dir/b c.tsx",
    "C:\\work\\d.cs",
    "Makefile",
    "docs/2024-01-02-e.md",
    "v1.2-3-x/f.rs",
    "main:src/g.go",
    "/h",
)
WORDS = ("", "x", "  y: int = 3", "a:1:b", "-", "--", "4-5", ":", "# src/a.py:7:", "error: no", " one", "src/a.py", "12:", "\r")


@tries(300)
@given(
    files=st.lists(st.tuples(st.sampled_from(PATHS), st.lists(st.sampled_from(WORDS), min_size=1, max_size=6)), max_size=6),
    numbers=st.booleans(),
    context=st.integers(0, 2),
    between=st.sampled_from(["", "--\n", "=== more\n", "src/a.py\n", "12:x\n"]),
)
def test_what_a_search_prints_comes_back(files, numbers, context, between):
    """Matches with and without numbers, with lines near them, and with other lines between."""
    found = list[str]()
    for path, words in files:
        for number, word in enumerate(words, 8):
            mark = "-" if context and number % (context + 1) else ":"
            found.append(f"{path}{mark}{number}{mark}{word}\n" if numbers else f"{path}{mark}{word}\n")
        found.append(between)
    check_fold(FOLDS["search_matches"], "".join(found), "rg")


def test_the_path_is_written_once():
    """Of many matches in one file, the path is left out but once."""
    text = "".join(f"src/redline/folds/fold.py:{number}:word {number}\n" for number in range(50))
    folded = check_fold(FOLDS["search_matches"], text)
    assert folded is not None
    assert folded.count("src/redline/folds/fold.py") == 1
    assert folded.startswith("src/redline/folds/fold.py\n0:word 0\n")


def test_many_reports_of_a_compiler_take_no_time():
    """They are looked at once, though they are left as they are."""
    text = "".join(f"src/engine/main.c:{number}:5: error: no\n" for number in range(30_000))
    began = time.perf_counter()
    assert check_fold(FOLDS["search_matches"], text) is None
    assert time.perf_counter() - began < 5
