import pytest

from redline.cli.places import damage_words, place_of_message, place_words


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ((8, 100, None), "line 8"),
        ((None, 12345, None), "byte 12,345"),
        ((None, 7, "a.json"), "a.json, byte 7"),
        ((None, 0, "record 3"), "record 3"),
    ],
)
def test_a_place_is_named_as_closely_as_it_is_known(given, words):
    """By its line where there are lines."""
    assert place_words(*given) == words


def test_a_message_is_named_by_its_line_and_its_number():
    """The line is what `repair` names; the number is what programs have (R39)."""
    assert place_of_message(7, 8) == "line 8 (message 7)"
    assert place_of_message(7, None) == "message 7"


def test_damage_is_named_by_its_line_where_there_are_lines():
    """A record of a database has none."""
    assert damage_words(3, 4, "not JSON") == "line 3, column 4: not JSON"
    assert damage_words(0, 0, "Record 3 is damaged.") == "Record 3 is damaged."
