from redline.tokens import Calibrated, Counter, Estimate, Exact, Remembered, count_part
from redline.values.messages import Text


class EveryWord:
    """A counter as a user would write it."""

    name = "words"

    def count(self, text: str) -> int:
        return len(text.split())


def test_any_object_with_a_name_and_a_count_will_do() -> None:
    """A counter needs no base class."""
    assert count_part(Text("three small words"), EveryWord()) == 3


def test_all_counters_are_counters() -> None:
    """Each has a name, counts nothing in nothing, and something in something."""
    counters: list[Counter] = [Estimate(), Exact(), Remembered(Estimate()), Calibrated(Estimate(), 1.1)]
    for counter in counters:
        assert counter.name
        assert counter.count("") == 0
        assert counter.count("hello") > 0
    assert len({counter.name for counter in counters}) == 3
