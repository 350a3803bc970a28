"""Lines of passed tests are left out, and nothing else is."""

from hypothesis import given
from hypothesis import strategies as st

from redline.folds import FOLDS
from tests.effort import tries
from tests.folds.folding import check_fold

OUTCOMES = st.sampled_from(["PASSED"] * 9 + ["FAILED", "SKIPPED (no rates)", "XFAIL (not yet)", "ERROR"])
NAMES = st.sampled_from(["adds", "splits", "raises_an_error", "rounds_half_up", "warns", "compares[a b]"])


@tries(200)
@given(tests=st.lists(st.tuples(NAMES, OUTCOMES), max_size=60), colours=st.booleans(), end=st.sampled_from(["\n", "\r\n"]))
def test_all_but_passed_tests_stay(tests, colours, end):
    """Whatever came of the tests, and in whatever order: the lines that stay are in their order, with a notice for each gap."""
    passed = "\x1b[32mPASSED\x1b[0m" if colours else "PASSED"
    lines = [f"tests/test_a.py::test_{name} {outcome.replace('PASSED', passed)}" for name, outcome in tests]
    lines.append(f"=== {len(tests)} tests in 0.13s ===")
    folded = check_fold(FOLDS["passed_tests"], end.join(lines))
    if folded is not None:
        left = folded.split("\n")
        gone = sum(int(line[1:].split()[0]) for line in left if line.startswith("["))
        assert gone + sum(not line.startswith("[") for line in left) == len(lines)
        assert [line for line in left if "PASSED" not in line and line[0] != "["] == [
            line for line in end.join(lines).split("\n") if "PASSED" not in line
        ]


def test_a_long_output_is_short():
    """A thousand tests that passed are one line."""
    lines = [f"test money::tests::case_{number} ... ok" for number in range(1_000)]
    folded = check_fold(FOLDS["passed_tests"], "\n".join(["running 1000 tests", *lines, "", "test result: ok. 1000 passed"]))
    assert folded is not None
    assert folded.count("\n") == 3
    assert "[1000 lines of passed tests left out; " in folded
