import contextlib
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redline.view.view import Indices


def test_appending_leaves_the_earlier_value_alone():
    """The value that was extended shows what it showed before."""
    before = Indices([4, 7])
    after = before.extended((9,))
    assert list(before) == [4, 7]
    assert list(after) == [4, 7, 9]


def test_two_values_grown_from_one_do_not_see_each_other():
    """Whoever appends to a value that is not the newest gets a list of its own."""
    root = Indices([0])
    left, right = root.extended((1,)), root.extended((2,))
    longer_left, longer_right = left.extended((3,)), right.extended((4,))
    assert [list(each) for each in (root, left, right)] == [[0], [0, 1], [0, 2]]
    assert [list(each) for each in (longer_left, longer_right)] == [[0, 1, 3], [0, 2, 4]]


def test_later_items_cannot_be_reached():
    """What a longer value has after the end of a shorter one is out of reach, whichever way it is asked for."""
    short = Indices([5, 6])
    short.extended((7,))
    with pytest.raises(IndexError):
        short[2]
    assert short[-1] == 6
    assert short[1:] == (6,)
    assert short[::-1] == (6, 5)
    assert 7 not in short
    assert list(reversed(short)) == [6, 5]
    assert short.count(7) == 0


def test_it_is_isolated_from_what_it_was_made_of():
    """Changing the list that was given changes nothing."""
    given_list = [1, 2]
    indices = Indices(given_list)
    given_list.append(3)
    assert indices == [1, 2]


def test_it_equals_any_sequence_with_the_same_items():
    """A list, a tuple or another value with the same items is equal; a longer, shorter or other one is not."""
    indices = Indices([1, 2]).extended((3,))
    assert indices == [1, 2, 3]
    assert indices == (1, 2, 3)
    assert indices == Indices([1, 2, 3])
    assert indices != [1, 2]
    assert indices != [1, 2, 4]
    assert indices != "123"
    assert repr(indices) == "Indices([1, 2, 3])"


@given(st.lists(st.integers(0, 99)), st.slices(12), st.lists(st.integers(0, 99), max_size=3))
def test_it_is_sliced_like_a_list(items, place, later):
    """Every slice gives what it gives on a list, whatever was appended to a longer value meanwhile."""
    indices = Indices(items)
    longer = indices
    for index in later:
        longer = longer.extended((index,))
    assert indices[place] == tuple(items[place])
    assert longer == items + later


@given(st.data())
def test_no_value_ever_changes(data):
    """However values are grown from each other, each shows for ever what it showed when it was made."""
    grown = [(Indices(), [])]
    for index in range(data.draw(st.integers(1, 30))):
        indices, shown = data.draw(st.sampled_from(grown))
        grown.append((indices.extended((index,)), [*shown, index]))
    assert all(list(indices) == shown and len(indices) == len(shown) for indices, shown in grown)


def test_threads_that_extend_the_same_value_do_not_mix():
    """Two threads that append to one value at the same moment each get their own item and nothing else."""
    at_the_same_moment = threading.Barrier(2)

    class Hesitant(list):
        """Lets the other thread come as far as this one between looking at the length and appending."""

        def __len__(self):
            length = super().__len__()
            with contextlib.suppress(threading.BrokenBarrierError):
                at_the_same_moment.wait(timeout=0.2)
            return length

    root = Indices([0])
    root._shared = Hesitant([0])
    with ThreadPoolExecutor(2) as threads:
        grown = list(threads.map(root.extended, ((1,), (2,))))
    assert [list(indices) for indices in grown] == [[0, 1], [0, 2]]


def test_appending_costs_the_same_at_every_length():
    """Growing to 100,000 items one by one, with every earlier value kept, is a matter of a second, not of minutes."""
    started = time.perf_counter()
    kept = [Indices()]
    for index in range(100_000):
        kept.append(kept[-1].extended((index,)))
    assert time.perf_counter() - started < 5
    assert len(kept[50_000]) == 50_000
    assert kept[50_000][-1] == 49_999
    assert kept[-1][-1] == 99_999
