"""Logs and other lines that begin alike come back, whatever their beginnings and the lines between them are."""

from hypothesis import given
from hypothesis import strategies as st

from redline.folds import FOLDS
from tests.effort import tries
from tests.folds.folding import check_fold

BEGINNINGS = (
    "build\tRun tests\t2026-03-01T10:20:11.1234567Z ",
    "build\tRun tests\t2026-03-01T10:20:12.7654321Z ",
    "build\tRun tests\t2026-03-01T10:21:01.7654321Z ",
    "build\tRun tests\t2026-03-01T11:00:00.0000000Z ",
    "build\tRun tests\t\ufeff2026-03-01T10:20:11.1234567Z ",
    "2026-03-01 10:20:11,123 INFO ",
    "2026-03-01 10:20:12 ",
    "[pod/web-5d9c7b/web] ",
    "web-1  | 2026-03-01T10:20:11Z ",
    "@acme/web build: ",
    "1265ac48 (Ann 2026-02-20 17:45:03 +0900 31) ",
    "test a::tests::",
    "tests/a.py::TestA::",
)
WORDS = ("", "x", "  indented", "…", " …", "a: …", "error: no", "\r", "\u2028", "test a::tests::", "2026-03-01 10:20:11 ")
OTHERS = ("", "  indented", " …", "a: …", "2026-03-01 10:20:…", "Traceback (most recent call last):", '  File "a.py", line 2')


@tries(300)
@given(
    runs=st.lists(
        st.tuples(st.sampled_from(BEGINNINGS), st.lists(st.sampled_from(WORDS), min_size=1, max_size=8), st.integers(1, 4)),
        max_size=6,
    ),
    others=st.lists(st.tuples(st.integers(0, 40), st.sampled_from(OTHERS)), max_size=3),
)
def test_lines_that_begin_alike_come_back(runs, others):
    """Runs of every kind, with one another and with other lines between."""
    lines = [beginning + word for beginning, words, times in runs for word in words * times]
    for place, line in others:
        lines.insert(place, line)
    check_fold(FOLDS["line_prefixes"], "\n".join(lines))


def test_the_beginning_is_written_once():
    """Of many lines of one minute, the date is left out but once."""
    text = "".join(f"2026-03-01 10:20:{number % 60:02},{number:03} query {number}\n" for number in range(200))
    folded = check_fold(FOLDS["line_prefixes"], text)
    assert folded is not None
    assert folded.startswith("2026-03-01 10:20:…\n  00,000 query 0\n")
    assert folded.count("2026") == 1


def test_a_line_with_a_trace_stays_whole():
    """The line to which indented lines belong is not among those below a heading."""
    log = [f"2026-03-01 10:20:{number} query {number}" for number in range(10, 20)]
    folded = check_fold(FOLDS["line_prefixes"], "\n".join([*log, "2026-03-01 10:20:31 error", "  at a.js:1", *log]))
    assert folded is not None
    assert "\n2026-03-01 10:20:31 error\n  at a.js:1\n" in folded
