from redline.view.operations import OperationOutcome
from redline.view.view import View
from tests.view.driver import Driven, keep, numbered, replace, truncate


def test_a_batch_opens_at_the_lowest_visible_index():
    """The boundary is the lowest index, wherever in the view it is."""
    store = Driven(numbered(9)).store
    assert OperationOutcome.of_new_batch(View.of([8, 3, 5]), store).boundary == 3


def test_a_batch_that_shows_nothing_opens_at_the_end():
    """Where nothing is visible, everything stored lies before the boundary."""
    driven = Driven(numbered(3))
    driven.process(keep(content_contains=["zzz"]))
    assert driven.batches.boundaries == (0, 3)
    driven.add({"role": "user", "content": "next"})
    assert driven.visible_indices == [3]


def test_messages_are_seen_in_the_version_that_counts():
    """Visible and hidden messages alike are shown as last replaced."""
    driven = Driven(numbered(3))
    driven.process(replace(0, "R"))
    driven.process(truncate(keep_last=2))
    assert [(index, message.text) for index, message in driven.context.history()] == [(0, "R"), (1, "m1"), (2, "m2")]
    assert [(index, message.text) for index, message in driven.context.visible()] == [(1, "m1"), (2, "m2")]


def test_an_outcome_changes_nothing_by_itself():
    """Until the caller takes it over, the state is what it was."""
    driven = Driven(numbered(3))
    before = driven.snapshot()
    outcome = OperationOutcome.of_new_batch(driven.view.with_indices([2]), driven.store)
    assert list(outcome.view.indices) == [2]
    assert driven.snapshot() == before
