import pytest
from hypothesis import given
from hypothesis import strategies as st

from redline.engine.vector import Vector

steps = st.lists(
    st.tuples(st.just("extend"), st.lists(st.integers(), max_size=600))
    | st.tuples(st.just("change"), st.integers(), st.integers())
    | st.tuples(st.just("cut"), st.integers(0, 700)),
    max_size=30,
)


@given(st.lists(st.integers(), max_size=600), steps)
def test_behaves_like_a_list_that_is_copied_at_every_step(start, changes):
    """Every value is what the same steps make of a list, and no earlier value changes."""
    vector, model = Vector(start), list(start)
    seen = [(vector, list(model))]
    for kind, *given_values in changes:
        if kind == "extend":
            vector, model = vector.extended(given_values[0]), [*model, *given_values[0]]
        elif kind == "cut":
            vector, model = vector.cut(given_values[0]), model[: given_values[0]]
        elif model:
            place = given_values[0] % len(model)
            vector, model = (
                vector.changed(place, given_values[1]),
                [*model[:place], given_values[1], *model[place + 1 :]],
            )
        seen.append((vector, list(model)))
    for value, expected in seen:
        assert (list(value), len(value)) == (expected, len(expected))
        assert value[:] == tuple(expected)
        assert value.joined(lambda number: b"%d" % number) == b",".join(b"%d" % number for number in expected)


def test_places_from_the_end_and_beyond():
    """Places count from the end too; one that is not there is an IndexError."""
    assert Vector([1, 2, 3])[-1] == 3
    with pytest.raises(IndexError):
        Vector([1])[1]
    with pytest.raises(IndexError):
        Vector([1]).changed(-2, 0)
