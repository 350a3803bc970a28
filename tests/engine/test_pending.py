from hypothesis import given
from hypothesis import strategies as st

from redline.engine.pending import Cut, Pending, Waiting


def marks_at(positions):
    return [Waiting(position, number, float(position % 7), number % 5) for number, position in enumerate(positions)]


def pending_of(marks):
    made = Pending()
    for mark in marks:
        made.add(mark)
    return made


positions = st.lists(st.integers(0, 400), max_size=600)
places = st.integers(0, 401)


@given(positions, places)
def test_marks_are_kept_in_order(given_positions, start):
    """However many there are: all from a position on, the first of them, and what they save."""
    marks = marks_at(given_positions)
    made, expected = pending_of(marks), sorted(mark for mark in marks if mark.position >= start)
    assert list(made.marks_from(start)) == expected
    assert made.first_from(start) == (expected[0].position if expected else None)
    assert made.saving_from(start) == sum(mark.saving for mark in expected)


@given(positions, places, st.randoms())
def test_marks_go_one_by_one_or_from_a_position_on(given_positions, cut, random):
    """What is left is what a plain list would hold."""
    marks = marks_at(given_positions)
    made = pending_of(marks)
    gone = random.sample(marks, len(marks) // 3)
    for mark in gone:
        made.remove(mark)
    left = sorted(set(marks) - set(gone))
    assert made.take_from(cut) == [mark for mark in left if mark.position >= cut]
    assert list(made.marks_from(0)) == [mark for mark in left if mark.position < cut]
    made.add(Waiting(cut, 1000, 1.0, 0))
    assert made.saving_from(cut) == 1.0


@given(positions, places, places)
def test_stretches_bound_their_cuts(given_positions, start, end):
    """Each mark in the range gives a cut with the sums of all behind it; none exceeds what its stretch promises."""
    marks = marks_at(given_positions)
    inside = sorted(mark for mark in marks if start <= mark.position < end)
    found = pending_of(marks).stretches(start, end)
    cuts = [(stretch.most, cut) for stretch in found for cut in stretch.cuts()]
    assert [cut for _, cut in cuts] == [
        Cut(mark.position, sum(one.saving for one in inside[place:]), sum(one.saving * one.since for one in inside[place:]))
        for place, mark in reversed(list(enumerate(inside)))
    ]
    assert all(cut.position <= most.position and cut.saving <= most.saving and cut.dated <= most.dated for most, cut in cuts)
