import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redline.cli.formatting import damage_words, dollars, place_of_message, place_words, printable, shortened, width_of, wrapped
from redline.cli.output import as_json

TRICKS = {
    "\x1b]52;c;cm0gLXJm\x07": "\\x1b]52;c;cm0gLXJm\\x07",
    "\x1b[2J": "\\x1b[2J",
    "ok\rFAILED": "ok\\rFAILED",
    "one\ntwo": "one\\ntwo",
    "\x9b31m": "\\x9b31m",
    "\u202egpj.exe": "\\u202egpj.exe",
    "a\u200bb\ufeff": "a\\u200bb\\ufeff",
    "\U000e0041": "\\U000e0041",
    "\u3164": "\\u3164",
    "\udc80": "\\udc80",
}


@pytest.mark.parametrize(("text", "shown"), TRICKS.items(), ids=list(TRICKS.values()))
def test_what_could_trick_a_reader_is_written_out(text, shown):
    """The clipboard, the cursor, the line, the direction, and what is there but not seen (R55)."""
    assert printable(text) == shown


@pytest.mark.parametrize("text", ["Datei größer", "请修复它", "✔️ 👍", "a b", "path/to/x.py", ""])
def test_words_stay_words(text):
    """In any script."""
    assert printable(text) == text


def test_other_spaces_become_plain_ones():
    """They are no trick, but no terminal agrees on their width."""
    assert printable("a\u3000b\u00a0c") == "a b c"


@given(st.text())
def test_nothing_that_is_not_printable_is_left(text):
    """Whatever the text is; doing it again changes nothing (R55)."""
    shown = printable(text)
    assert shown.isprintable()
    assert printable(shown) == shown


@given(st.recursive(st.text() | st.integers() | st.none(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)))
def test_json_reads_back_and_holds_no_control_character(value):
    """Programs get the very characters, terminals only their escapes (R55)."""
    for indent in (None, 2):
        text = as_json(value, indent=indent)
        assert json.loads(text) == value
        assert text.replace("\n", "").isprintable()
    assert as_json(value, is_ascii=True).isascii()


@given(st.text(st.sampled_from("ab请👍é\u0301"), max_size=40), st.integers(1, 30), st.booleans())
def test_shortened_text_fits(text, width, at_end):
    """And what fits is not touched."""
    short = shortened(text, width, at_end=at_end)
    assert width_of(short) <= width
    assert short == text or ("…" in short and width_of(text) > width)


def test_names_lose_their_middle_and_words_their_end():
    """The ends of a name tell most about it."""
    assert shortened("entire-f7633853-666.json", 13) == "entire…6.json"
    assert shortened("entire-f7633853-666.json", 13, at_end=True) == "entire-f7633…"


@given(st.text(st.sampled_from("ab 请"), max_size=60), st.integers(2, 20))
def test_folded_text_is_whole(text, width):
    """Lines fit, and no letter is lost."""
    lines = wrapped(text, width)
    assert all(width_of(line) <= width for line in lines)
    assert "".join(lines).replace(" ", "") == text.replace(" ", "")


@pytest.mark.parametrize(
    ("cost", "words"),
    [
        (1217.35, "$1,217.35"),
        (-1234567.891, "-$1,234,567.89"),
        (12.3, "$12.30"),
        (0.0041, "$0.0041"),
        (-0.0041, "-$0.0041"),
        (-2.5, "-$2.50"),
        (0.00004, "<$0.0001"),
        (-0.00004, "$0.00"),
        (-0.0, "$0.00"),
        (0, "$0.00"),
        (None, ""),
    ],
)
def test_money_has_separators_and_no_negative_zero(cost, words):
    """R175: thousands are set apart, a loss has its sign, and nothing is never negative."""
    assert dollars(cost) == words


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
