"""Progress and logs lose the lines between; a number that may be a result keeps all of them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redline.folds import Output
from redline.folds.alike_lines import AlikeLines
from tests.effort import tries

PROGRESS = {
    "clock": "2026-07-02T10:{n:02d}:00Z INFO waiting for the leader of the cluster",
    "share": "Receiving objects: {n:3d}% of the pack in this repository",
    "part": "Copying layers of the image {n}/59 to the local store",
    "elapsed": "module.network.subnet: Still creating... [{n}0s elapsed]",
    "attempt": "Attempt {n}: the port is not open yet, trying again",
}
RESULTS = [
    "{words} {n}",
    "{n} {words}",
    "{words} {n}.5 {n}",
    "10:00:{n:02d} {words} {n}",
    "{words}: {n} ms",
    "{words},{n},{n}",
    "{n}% {words} in {n} ms",
    "src/{words}.py:{n}: return",
]


@pytest.mark.parametrize("line", PROGRESS.values(), ids=PROGRESS)
@pytest.mark.parametrize("count", [6, 7, 40, 59])
def test_the_first_and_the_last_stay_with_the_count(line, count):
    """Of each kind of progress."""
    lines = [line.format(n=number) for number in range(1, count + 1)]
    folded = AlikeLines().applied(Output("\n".join(["before", *lines, "after"]), whole="whole/4f2a.txt"))
    notice = f"[{count - 2} lines alike left out; all of it: whole/4f2a.txt]"
    assert folded is not None
    assert folded.split("\n") == ["before", lines[0], notice, lines[-1], "after"]


@tries(200)
@given(
    st.sampled_from(RESULTS),
    st.text(alphabet="abcdefghijklmnopqrstuvwxyz ", min_size=4, max_size=30),
    st.lists(st.integers(0, 59), min_size=6, max_size=30, unique=True).filter(lambda found: found != sorted(found)),
)
def test_numbers_that_rise_and_fall_stay(form, words, numbers):
    """Whatever words stand around them."""
    text = "\n".join(form.format(words=words, n=number) for number in numbers)
    assert AlikeLines().applied(Output(text, whole="whole/4f2a.txt")) is None
