"""Lines of building, downloading and installing are left out, and nothing else is."""

from hypothesis import given
from hypothesis import strategies as st

from redline.folds import FOLDS
from redline.folds.routine_lines import BUILDING, PASSED_TESTS, is_routine, plain_text, routine_lines
from tests.effort import tries
from tests.folds.folding import check_fold

LEADS = ["", "#8 12.34 ", "2026-07-13T20:26:03.4015760Z ", "ci (macos)\tbuild\t2026-07-13T20:26:03.4015760Z ", "build-1  | "]
BUILT = [
    "   Compiling serde v1.0.228",
    "Collecting requests",
    "[ 12%] Building CXX object a.o",
    "Get:1 http://deb.debian.org a",
]
OTHERS = [
    "Finished in 3s",
    "Successfully installed requests-2.32.3",
    "added 120 packages",
    "a.c:12:5: error: no",
    "warning: old",
]


@tries(200)
@given(
    lines=st.lists(st.sampled_from(BUILT * 4 + OTHERS), max_size=60),
    lead=st.sampled_from(LEADS),
    end=st.sampled_from(["\n", "\r\n"]),
)
def test_results_and_warnings_stay(lines, lead, end):
    """Whatever writes the time or its name before each line."""
    lines = [lead + line for line in lines]
    folded = check_fold(FOLDS["build_lines"], end.join(lines))
    if folded is not None:
        left = iter(folded.split("\n"))
        assert all(
            line in left for line in end.join(lines).split("\n") if any(line.rstrip("\r").endswith(one) for one in OTHERS)
        )


@given(text=st.text(alphabet="a1#|[]–: .Z\t\r\n\x1b\ufeff\u2028", max_size=200))
def test_plain_text_has_as_many_lines(text):
    """Colours and leads are taken off, line for line."""
    assert plain_text(text).count("\n") == text.count("\n")


@given(
    lines=st.lists(
        st.sampled_from([*BUILT, "PASS src/a.test.ts", "Receiving objects:  12%\rReceiving objects: 100%"]), min_size=1
    )
)
def test_lines_have_their_numbers(lines):
    """Lines of a kind are found at their places, between others."""
    text = "\n".join(["other", *lines, "other"])
    found = routine_lines(text, BUILDING) | routine_lines(text, PASSED_TESTS)
    assert found == {*range(1, len(lines) + 1)}
    assert all(is_routine(line.split("\r")[0]) for line in lines)
