import dataclasses

import pytest

from redline.view.view import View


def test_a_view_starts_empty():
    """Nothing is visible at first, and every message counts as first said."""
    assert list(View().indices) == []
    assert View().version_of(7) == 0


def test_every_change_gives_another_view():
    """A view that was changed from shows what it showed before."""
    before = View.of([1, 2], {1: 3})
    after = (before.extended((5,)), before.with_indices([2]), before.with_versions({2: 1}))
    assert before == View.of([1, 2], {1: 3})
    assert [list(view.indices) for view in after] == [[1, 2, 5], [2], [1, 2]]
    assert [dict(view.versions) for view in after] == [{1: 3}, {1: 3}, {1: 3, 2: 1}]


def test_a_hidden_message_keeps_its_version():
    """Hiding a message does not bring its first version back."""
    assert View.of([1, 2]).with_versions({1: 4}).with_indices([2]).version_of(1) == 4


def test_the_first_version_is_the_same_as_none():
    """A view that was set back to the first version equals one that never had another."""
    assert View.of([1]).with_versions({1: 2}).with_versions({1: 0}) == View.of([1])


def test_a_view_cannot_be_changed():
    """Neither its fields nor the versions in it can be set."""
    view = View.of([1], {1: 1})
    with pytest.raises(dataclasses.FrozenInstanceError):
        view.versions = {}
    with pytest.raises(TypeError):
        view.versions[1] = 2


def test_a_view_is_isolated_from_what_it_was_made_of():
    """Changing the list and the mapping that were given changes nothing."""
    indices, versions = [1], {1: 1}
    view = View.of(indices, versions)
    indices.append(2)
    versions[1] = 5
    assert view == View.of([1], {1: 1})
