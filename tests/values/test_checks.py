"""Arguments are checked where they are given."""

import pytest

from redline.errors import ValidationError
from redline.values.checks import (
    check_at_least,
    check_count,
    check_counts,
    check_flags,
    check_function,
    check_methods,
    has_methods,
    make_list,
    short_repr,
)


@pytest.mark.parametrize("value", [1, -1, None, "5", True, 2.0])
def test_a_wrong_count_is_refused(value):
    """The error says what it is for, the least, and the value where that can be written."""
    with pytest.raises(ValidationError, match=r"keep must be a whole number of at least 2, not "):
        check_count("keep", value, least=2)
    check_count("keep", 2, least=2)


@pytest.mark.parametrize("value", [0, None, "5", True, float("nan"), float("inf"), 10**400])
def test_wrong_settings_are_refused(value):
    """The error names the owner, the setting and what is wanted."""
    with pytest.raises(ValidationError, match=r"rule: size must be a finite number of at least 1, not "):
        check_at_least(1, "rule", size=value)
    with pytest.raises(ValidationError, match=r"rule: size must be a whole number of at least 1, not "):
        check_counts(1, "rule", size=value)
    if value is not True:
        with pytest.raises(ValidationError, match=r"rule: size must be True or False, not "):
            check_flags("rule", size=value)
    check_at_least(1, "rule", size=1, length=2.5)
    check_counts(1, "rule", size=1, length=10**18)
    check_flags("rule", size=True, length=False)


def test_what_cannot_be_called_is_no_function():
    """The error says so."""
    with pytest.raises(ValidationError, match="clock must be a function, not 5"):
        check_function("clock", 5)
    check_function("clock", print)


def test_an_object_needs_its_methods():
    """A class with such methods is not yet an object."""
    with pytest.raises(ValidationError, match="log must be an object with the methods append, read, not "):
        check_methods("log", [], "append", "read")
    check_methods("log", [], "append", "clear")
    assert has_methods([], "append")
    assert not has_methods(list, "append")


@pytest.mark.parametrize("values", ["abc", b"abc", {"a": 1}, 5, None])
def test_a_single_one_is_no_list(values):
    """Nor is an object; anything that can be gone through is made a tuple."""
    with pytest.raises(ValidationError, match="tools must be a list, not "):
        make_list("tools", values)
    assert make_list("tools", iter("ab")) == ("a", "b")


def test_what_cannot_be_written_is_named_by_its_type():
    """A number of thousands of digits, or a value that is nested too deep."""
    assert short_repr("x") == "'x'"
    assert short_repr(10**5000) == "a value of type int"
