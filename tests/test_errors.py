import pickle

import pytest

import redline
from redline import errors


@pytest.mark.parametrize("name", errors.__all__)
def test_every_error_is_a_redline_error(name):
    """One `except RedlineError` catches them all, and each is public and drawn in the tree."""
    assert issubclass(getattr(errors, name), errors.RedlineError)
    assert getattr(redline, name) is getattr(errors, name)
    assert name in (errors.__doc__ or "")


def test_missing_extra_names_the_command():
    """The text says what to install."""
    assert str(errors.MissingExtraError("Counting", "tokens")) == (
        "Counting needs the extra 'tokens': pip install 'redline-context[tokens]'"
    )


def test_a_missing_extra_comes_back_from_a_process():
    """Pickled and read again, it says the same."""
    missing = errors.MissingExtraError("Counting", "tokens")
    assert str(pickle.loads(pickle.dumps(missing))) == str(missing)
