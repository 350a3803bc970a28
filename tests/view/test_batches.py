import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from redline.errors import ExecutionError, RedlineError, ValidationError
from redline.view.view import Batches, View
from tests.view.driver import Driven, clear, insert, keep, numbered, replace, truncate


def test_there_is_one_batch_at_first():
    """The first batch is number 0, and nothing lies before it."""
    batches = Batches()
    assert (batches.current, batches.boundaries, list(batches.numbers)) == (0, (0,), [0])


def test_opening_a_batch_keeps_the_view_that_ends():
    """The batch that ends can be shown as it was then; the new one is current."""
    batches = Batches().opened(5, View.of([0, 5])).opened(7, View.of([5, 7]))
    assert (batches.current, batches.boundaries) == (2, (0, 5, 7))
    assert [list(batches.view_of(number, View.of([7])).indices) for number in batches.numbers] == [[0, 5], [5, 7], [7]]


def test_rollback_drops_the_later_batches():
    """The batch is current again, those after it are gone, and the next one has the number after it."""
    batches = Batches().opened(5, View()).opened(7, View()).rolled_back(0)
    assert batches == Batches()
    assert batches.opened(3, View()).current == 1


def test_rollback_to_the_current_batch_changes_nothing():
    """The current batch is where it is."""
    batches = Batches().opened(5, View())
    assert batches.rolled_back(1) is batches
    assert batches.view_of(1, View.of([9])) == View.of([9])


@pytest.mark.parametrize("batch", [2, 7, -1])
def test_an_unknown_batch_is_an_error_that_names_those_there_are(batch):
    """A batch that never was, or that a rollback discarded, cannot be reached; a negative one does not count back."""
    batches = Batches().opened(5, View()).opened(6, View()).rolled_back(1)
    for question in (batches.rolled_back, lambda number: batches.view_of(number, View())):
        with pytest.raises(ExecutionError, match=f"no batch {batch}.*0 to 1"):
            question(batch)


def test_the_error_says_when_there_is_only_one_batch():
    """Without an earlier batch the text says so."""
    with pytest.raises(ExecutionError, match=r"no batch 1. The only batch is 0"):
        Batches().rolled_back(1)


@pytest.mark.parametrize("batch", [True, "0", 0.0, None])
def test_a_batch_is_named_by_a_whole_number(batch):
    """Anything else is bad input."""
    with pytest.raises(ValidationError, match="number"):
        Batches().rolled_back(batch)


def test_rollback_restores_the_view_as_it_was_when_the_batch_ended():
    """Messages added before the batch ended belong to it; those added later stay stored but hidden."""
    driven = Driven(numbered(2))
    driven.add({"role": "user", "content": "x"})
    driven.process(truncate(keep_last=1))
    driven.add({"role": "user", "content": "y"})
    driven.rollback(0)
    assert driven.visible_indices == [0, 1, 2]
    assert len(driven.all_messages) == 4


def test_rollback_shows_the_version_of_its_time():
    """A replacement belongs to the batch it was made in: an earlier batch shows the message as it was."""
    driven = Driven(numbered(3))
    driven.process(replace(0, "early"))
    driven.process(truncate(keep_first=2))
    driven.process(replace(0, "late"))
    assert driven.all_messages[0]["content"] == "late"
    driven.rollback(0)
    assert driven.all_messages[0]["content"] == "early"
    driven.process(replace(0, "again"))
    assert driven.all_messages[0]["content"] == "again"
    assert [version.text for version in driven.store.versions[0]] == ["m0", "early", "late", "again"]


def test_a_message_added_after_a_rollback_does_not_show_hidden_ones():
    """What came later than the batch stays hidden when the conversation goes on."""
    driven = Driven(numbered(2))
    driven.process(truncate(keep_last=1))
    driven.add({"role": "user", "content": "lost"})
    driven.rollback(0)
    driven.add({"role": "user", "content": "next"})
    assert [message["content"] for message in driven.messages] == ["m0", "m1", "next"]


counts = st.integers(0, 6)
places = st.integers(-1, 8)
words = st.sampled_from(["m1", "x", "sys", "可用"])
roles = st.sampled_from(["user", "assistant", "system"])
operations = st.one_of(
    st.builds(truncate, keep_last=counts, remove_first=st.none() | counts),
    st.builds(truncate, keep_first=counts, remove_last=st.none() | counts),
    st.builds(lambda start, length: truncate(range={"start": start, "end": start + length}), counts, counts),
    st.builds(insert, places, words, words, role=roles),
    st.builds(replace, places, words),
    st.builds(clear, keep_system_message=st.booleans()),
    st.builds(keep, roles=st.lists(roles, max_size=2), content_excludes=st.lists(words, max_size=1)),
    st.just({"operation": "shrink"}),
)


class Batching(RuleBasedStateMachine):
    """Any sequence of operations, compared with plain copies of what every batch showed when it ended."""

    def __init__(self) -> None:
        super().__init__()
        self.driven = Driven(numbered(4), tools=[{"name": "read", "description": "read a file"}])
        self.ended: list[tuple[list, list]] = []
        self.views = [(self.driven.view, *self.seen())]

    def seen(self):
        return self.driven.visible_indices, dict(self.driven.view.versions)

    def try_to(self, change, argument):
        shown, before = (self.driven.messages, self.driven.all_messages), self.driven.snapshot()
        batch = self.driven.batches.current
        try:
            change(argument)
        except RedlineError:
            assert self.driven.snapshot() == before, "an operation that fails changes nothing"
            return
        if self.driven.batches.current == batch + 1:
            self.ended.append(shown)

    @rule(text=words, role=roles)
    def add(self, text, role):
        self.driven.add({"role": role, "content": text})

    @rule(config=operations)
    def process(self, config):
        self.try_to(self.driven.process, config)

    @rule(boundary=st.integers(-1, 12))
    def start_batch(self, boundary):
        self.try_to(self.driven.start_batch, boundary)

    @precondition(lambda self: self.ended)
    @rule(data=st.data())
    def rollback(self, data):
        batch = data.draw(st.integers(0, len(self.ended) - 1))
        visible, everything = self.ended[batch]
        self.driven.rollback(batch)
        assert self.driven.messages == visible, "the view as it was when the batch ended"
        assert self.driven.all_messages[: len(everything)] == everything
        del self.ended[batch:]

    @rule()
    def rollback_to_the_current_batch(self):
        before = self.driven.snapshot()
        self.driven.rollback(len(self.ended))
        assert self.driven.snapshot() == before

    @rule(beyond=st.integers(1, 3))
    def rollback_to_an_unknown_batch(self, beyond):
        before = self.driven.snapshot()
        with pytest.raises(ExecutionError):
            self.driven.rollback(len(self.ended) + beyond)
        assert self.driven.snapshot() == before

    @invariant()
    def views_never_change(self):
        for view, indices, versions in self.views:
            assert (list(view.indices), dict(view.versions)) == (indices, versions)
        self.views.append((self.driven.view, *self.seen()))

    @invariant()
    def batches_are_numbered_without_gaps(self):
        assert self.driven.batches.current == len(self.ended)
        assert len(self.driven.batches.boundaries) == len(self.ended) + 1
        assert self.driven.batches.boundaries[0] == 0

    @invariant()
    def every_visible_message_is_stored_and_shown_once(self):
        visible = self.driven.visible_indices
        assert len(set(visible)) == len(visible)
        assert all(0 <= index < len(self.driven.store) for index in visible)


Batching.TestCase.settings = settings(max_examples=80, stateful_step_count=25, deadline=None)
TestBatching = Batching.TestCase
