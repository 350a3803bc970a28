import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redline.cli.printable import as_json, printable, shortened, width_of, wrapped

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
