import pytest
from hypothesis import given
from hypothesis import strategies as st

from redline.tokens import CountMemory, Estimate, Exact, Remembered


class Tally:
    """Counts characters, and how often it was asked."""

    def __init__(self, name: str = "tally") -> None:
        self.name = name
        self.asked = 0

    def count(self, text: str) -> int:
        self.asked += 1
        return len(text)


@pytest.mark.parametrize("text", ["", "short", "long " * 1000, "\ud800" * 300])
def test_a_text_is_counted_once(text: str) -> None:
    """The second time the count comes from memory, for short texts and long ones."""
    tally = Tally()
    counter = Remembered(tally, CountMemory())
    assert counter.count(text) == counter.count(text) == len(text)
    assert tally.asked == 1


def test_counters_share_a_memory_by_name() -> None:
    """Two counters of one name share their counts; two names never do."""
    memory, first, second, other = CountMemory(), Tally(), Tally(), Tally("other")
    for tally in (first, second, other):
        Remembered(tally, memory).count("text")
    assert (first.asked, second.asked, other.asked) == (1, 0, 1)


def test_memory_is_bounded() -> None:
    """However many texts are counted, no more than the limit is kept, and what is in use stays."""
    memory, tally = CountMemory(limit=100), Tally()
    counter = Remembered(tally, memory)
    for number in range(1000):
        counter.count("in use")
        counter.count(f"text {number}")
        assert len(memory) <= 100
    assert tally.asked == 1001


def test_the_smallest_memory_works() -> None:
    """A limit of nothing still counts."""
    counter = Remembered(Tally(), CountMemory(limit=0))
    assert [counter.count(text) for text in ("a", "bb", "a")] == [1, 2, 1]


@given(st.lists(st.text() | st.text(min_size=300), min_size=1))
def test_the_count_is_that_of_the_counter(texts: list[str]) -> None:
    """Remembering changes no count."""
    for counter in (Estimate(), Exact()):
        remembered = Remembered(counter, CountMemory(limit=4))
        assert [remembered.count(text) for text in texts] == [counter.count(text) for text in texts]
