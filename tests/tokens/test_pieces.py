"""Long texts are counted in pieces."""

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redline.tokens import Estimate, Exact
from redline.tokens.estimate import MOST_COUNTED, PIECE, count_sampled, pieces

WORDS = st.sampled_from(
    ["word", "Größe", "你好世界", "，", "。", " ", "\n", "1234567", "don't", "a_b", "/", ";\n", "\r\n", "x=1;", "👩‍👧", "\t"]
)
long_texts = st.lists(WORDS, min_size=1, max_size=30).map(lambda words: "".join(words) * (PIECE // 20))


@given(st.text(max_size=50) | long_texts)
def test_nothing_is_lost(text):
    """The pieces are the text, none longer than it should be by much."""
    cut = list(pieces(text))
    assert "".join(cut) == text
    assert all(len(piece) <= PIECE + 1024 for piece in cut)


@given(long_texts)
def test_cutting_hardly_changes_the_count(text):
    """At most a token or two for each cut, and none where words end (R65)."""
    exact = Exact()
    cuts = len(list(pieces(text))) - 1
    assert abs(count_sampled(text, exact.count) - len(exact._tokenizer.encode_ordinary(text))) <= 3 * cuts


@given(long_texts)
def test_the_estimate_of_pieces_is_that_of_the_whole(text):
    """Groups of letters, signs and digits are not cut, but where there is no other place."""
    cuts = len(list(pieces(text))) - 1
    whole = Estimate().count(text)
    assert abs(sum(Estimate().count(piece) for piece in pieces(text)) - whole) <= 5 * cuts + 1


def test_a_very_long_text_is_sampled():
    """So much is counted and hardly more; the count is in proportion (R65)."""
    counted = []
    text = "some words of a long text. " * (MOST_COUNTED // 9)
    total = count_sampled(text, lambda piece: counted.append(len(piece)) or len(piece))
    assert sum(counted) <= 1.3 * MOST_COUNTED
    assert len(text) <= total <= len(text) + 1


MEASURE = """
import resource, sys
from redline.tokens import Estimate, Exact, Remembered
counter = Remembered({"exact": Exact, "estimate": Estimate}[sys.argv[1]]())
text = sys.argv[2] * (int(sys.argv[3]) // len(sys.argv[2].encode()))
counter.count("warm up " * 10_000)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
counter.count(text)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


@pytest.mark.parametrize("counter", ["exact", "estimate"])
@pytest.mark.parametrize("words", ["你好世界今天天气很好", "a", " ", "def f(x):\n    return 1\n", "👩‍👧😀"])
def test_memory_does_not_grow_with_the_text(counter, words):
    """Ten million bytes of anything take less than their own size five times over, in a process of its own (R65)."""
    size = 10_000_000
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, counter, words, str(size)], capture_output=True, text=True, check=True, timeout=300
    )
    unit = 1 if sys.platform == "darwin" else 1024
    assert int(done.stdout) * unit < 5 * size
