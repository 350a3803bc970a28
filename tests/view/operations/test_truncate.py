import pytest
from hypothesis import given
from hypothesis import strategies as st

from redline.errors import ValidationError
from redline.view.operations import Span, Truncate, parse_operation
from tests.view.driver import Driven, insert, numbered, truncate


@pytest.mark.parametrize(
    ("options", "visible"),
    [
        ({"keep_first": 2}, [0, 1]),
        ({"keep_last": 2}, [3, 4]),
        ({"remove_first": 2}, [2, 3, 4]),
        ({"remove_last": 2}, [0, 1, 2]),
        ({"range": {"start": 1, "end": 3}}, [1, 2]),
        ({"keep_first": 0}, []),
        ({"keep_last": 0}, []),
        ({"remove_first": 0}, [0, 1, 2, 3, 4]),
        ({"remove_last": 0}, [0, 1, 2, 3, 4]),
        ({"keep_last": 7}, [0, 1, 2, 3, 4]),
        ({"remove_last": 7}, []),
        ({"keep_first": 99}, [0, 1, 2, 3, 4]),
        ({"keep_last": 99}, [0, 1, 2, 3, 4]),
        ({"remove_first": 99}, []),
        ({"remove_last": 99}, []),
        ({"range": {"start": 1, "end": 99}}, [1, 2, 3, 4]),
        ({"range": {"start": 7, "end": 9}}, []),
    ],
)
def test_each_option_cuts_the_view(options, visible):
    """Keeping 0 keeps nothing, removing 0 removes nothing, and what is too large is clipped."""
    driven = Driven(numbered(5))
    driven.process(truncate(**options))
    assert driven.visible_indices == visible


def test_the_options_work_on_each_others_result():
    """keep_first, keep_last, remove_first, remove_last, range: in this order, however they are written."""
    driven = Driven(numbered(10))
    options = {"range": {"start": 0, "end": 3}, "removeLast": 1, "removeFirst": 1, "keepLast": 6, "keepFirst": 8}
    driven.process(truncate(**options))
    assert driven.visible_indices == [3, 4, 5]


@given(
    st.integers(0, 9),
    st.fixed_dictionaries(
        {}, optional={name: st.integers(0, 12) for name in ("keep_first", "keep_last", "remove_first", "remove_last")}
    ),
)
def test_several_options_are_as_several_operations(count, options):
    """All options at once show what one operation for each of them shows."""
    together, one_by_one = Driven(numbered(count)), Driven(numbered(count))
    together.process(truncate(**options, range={"start": 0, "end": 99}))
    for name in ("keep_first", "keep_last", "remove_first", "remove_last"):
        if name in options:
            one_by_one.process(truncate(**{name: options[name]}))
    assert together.visible_indices == one_by_one.visible_indices


def test_it_opens_a_batch_even_if_nothing_is_cut():
    """The view is the same, the batch is another."""
    driven = Driven(numbered(3))
    driven.process(truncate(remove_first=0))
    assert (driven.visible_indices, driven.batches.current) == ([0, 1, 2], 1)


def test_it_works_on_the_order_of_the_view():
    """First and last are meant as shown, not as stored."""
    driven = Driven(numbered(3))
    driven.process(insert(0, "front"))
    driven.process(truncate(keep_first=2))
    assert driven.visible_indices == [3, 0]
    assert driven.batches.boundaries == (0, 0)


def test_the_messages_stay_stored():
    """Only the view is cut."""
    driven = Driven(numbered(3))
    driven.process(truncate(keep_last=0))
    assert driven.all_messages == numbered(3)


@pytest.mark.parametrize("name", ["keep_first", "keep_last", "remove_first", "remove_last", "keepLast"])
@pytest.mark.parametrize("value", [-1, True, 1.5, "1", [1]])
def test_a_bad_number_is_refused(name, value):
    """A negative number, a boolean and anything that is no whole number is an error that names the option."""
    with pytest.raises(ValidationError, match=r"truncate\.(keep|remove)_(first|last)"):
        parse_operation(truncate(**{name: value}))


@pytest.mark.parametrize(
    ("span", "problem"),
    [
        ({"start": 2, "end": 2}, "from 2 to 2 is empty"),
        ({"start": 3, "end": 2}, "from 3 to 2 is empty"),
        ({"start": -1, "end": 2}, "range.start must be"),
        ({"start": 0, "end": -2}, "range.end must be"),
        ({"start": False, "end": True}, "range.start must be"),
        ({"start": 0}, "range.end is missing"),
        ({"end": 2}, "range.start is missing"),
        ([0, 2], "must be an object with start, end"),
        ({}, "range.start is missing"),
    ],
)
def test_a_bad_range_is_refused(span, problem):
    """A range needs a start and an end after it."""
    with pytest.raises(ValidationError, match=problem):
        parse_operation(truncate(range=span))


@pytest.mark.parametrize("section", [{}, None, {"keep_last": None}])
def test_no_option_is_refused(section):
    """An operation that says nothing to do is a mistake; the error lists what can be said."""
    with pytest.raises(ValidationError, match="at least one of keep_first, keep_last, remove_first, remove_last, range"):
        parse_operation({"operation": "truncate", "truncate": section})


def test_the_value_is_checked_however_it_is_made():
    """An invalid operation cannot exist."""
    with pytest.raises(ValidationError):
        Truncate(keep_last=-1)
    with pytest.raises(ValidationError):
        Truncate()
    with pytest.raises(ValidationError):
        Span(2, 1)
    assert parse_operation(truncate(keepLast=2, range={"start": 0, "end": 1})) == Truncate(keep_last=2, span=Span(0, 1))
