import pytest

from redline.errors import ExecutionError, ValidationError
from redline.view.operations import StartBatch
from tests.view.driver import Driven, insert, numbered, truncate


def test_what_is_visible_before_the_boundary_is_hidden():
    """The boundary is an index, and the batch keeps it."""
    driven = Driven(numbered(10))
    driven.process(truncate(keep_last=5))
    driven.start_batch(7)
    assert driven.visible_indices == [7, 8, 9]
    assert driven.batches.boundaries == (0, 5, 7)


def test_the_order_of_the_view_is_kept():
    """An inserted message has a high index and stays, wherever it is."""
    driven = Driven(numbered(4))
    driven.process(insert(0, "front"))
    driven.start_batch(2)
    assert driven.visible_indices == [4, 2, 3]


def test_the_number_of_stored_messages_hides_everything():
    """Typical of a compression: all is hidden, then the summary is added."""
    driven = Driven(numbered(3))
    driven.start_batch(3)
    assert driven.visible_indices == []
    driven.add({"role": "user", "content": "summary"})
    assert (driven.visible_indices, driven.batches.boundaries) == ([3], (0, 3))


def test_zero_hides_nothing():
    """A batch opens all the same."""
    driven = Driven(numbered(2))
    driven.start_batch(0)
    assert (driven.visible_indices, driven.batches.boundaries) == ([0, 1], (0, 0))


def test_hidden_messages_stay_hidden():
    """A boundary lower than the view shows nothing again."""
    driven = Driven(numbered(5))
    driven.process(truncate(keep_last=1))
    driven.start_batch(2)
    assert driven.visible_indices == [4]


@pytest.mark.parametrize("boundary", [-1, 3, 99])
def test_a_boundary_that_does_not_exist_is_refused(boundary):
    """Neither a negative one nor one past the stored messages; nothing changes."""
    driven = Driven(numbered(2))
    before = driven.snapshot()
    with pytest.raises(ExecutionError, match=f"no boundary {boundary}: .*0 to 2"):
        driven.start_batch(boundary)
    assert driven.snapshot() == before


@pytest.mark.parametrize("boundary", [True, "1", 1.0, None])
def test_a_boundary_is_a_whole_number(boundary):
    """Anything else is bad input."""
    with pytest.raises(ValidationError, match="must be an index"):
        StartBatch(boundary)
