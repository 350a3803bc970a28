import pytest

from redline.errors import ValidationError
from redline.view.operations import Insert, Truncate, read_options

KNOWN = ("keep_first", "range")


def test_keys_may_be_spelled_in_two_ways():
    """snake_case and camelCase name the same option."""
    assert read_options("truncate", {"keepFirst": 1}, KNOWN) == {"keep_first": 1}
    assert read_options("truncate", {"keep_first": 1}, KNOWN) == {"keep_first": 1}


def test_an_option_in_both_spellings_is_refused():
    """Which of two values is meant cannot be known; a null beside a value is no second value."""
    with pytest.raises(ValidationError, match=r"truncate.keep_first is given in two spellings"):
        read_options("truncate", {"keepFirst": 1, "keep_first": 2}, KNOWN)
    assert read_options("truncate", {"keepFirst": 1, "keep_first": None}, KNOWN) == {"keep_first": 1}


def test_an_unknown_option_is_refused():
    """A misspelled option would otherwise be ignored in silence; the error lists those there are."""
    with pytest.raises(ValidationError, match=r"truncate has no option 'keepFrist'. Known are: keep_first, range"):
        read_options("truncate", {"keepFrist": 1}, KNOWN)


def test_null_is_not_set():
    """A null option, and a section that is null, say nothing."""
    assert read_options("truncate", {"keep_first": None}, KNOWN) == {}
    assert read_options("truncate", None, KNOWN) == {}


@pytest.mark.parametrize("section", [5, "keep_first", [1], True])
def test_a_section_is_an_object(section):
    """Anything else is refused, and the error says what belongs there."""
    with pytest.raises(ValidationError, match="truncate must be an object with keep_first, range, not"):
        read_options("truncate", section, KNOWN)


def test_lists_are_isolated_from_the_configuration():
    """Changing the list afterwards does not change the option."""
    roles = ["user"]
    options = read_options("filter", {"roles": roles}, ("roles",))
    roles.append("tool")
    assert options == {"roles": ("user",)}


def test_a_required_option_that_is_missing_is_named():
    """The error says which option of which operation."""
    with pytest.raises(ValidationError, match=r"replace.index is missing"):
        read_options("replace", {"message": 1}, ("index", "message"), required=True)


@pytest.mark.parametrize("value", [-1, True, False, 1.0, "1"])
def test_a_count_is_a_whole_number_that_is_not_negative(value):
    """Booleans, fractions and texts are no numbers."""
    with pytest.raises(ValidationError, match=r"truncate.keep_last must be a whole number, 0 or more, not"):
        Truncate(keep_last=value)


def test_the_lowest_count_is_accepted():
    """Zero is a number of messages; another lower limit can be set."""
    assert Truncate(keep_last=0).keep_last == 0
    assert Insert(-1, ({"role": "user", "content": "a"},)).position == -1
    with pytest.raises(ValidationError, match="-1 or more"):
        Insert(-2, ({"role": "user", "content": "a"},))
