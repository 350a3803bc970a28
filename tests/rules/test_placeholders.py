"""A placeholder filled in."""

from redline.rules.placeholders import placeholder_for
from redline.values.words import EN
from tests.rules.folding import native, read, seen_in, steps


def seen(tool, arguments, answer):
    return seen_in(read(native(steps((tool, arguments, answer)))))[-1]


def test_a_result_is_replaced_only_by_something_shorter():
    """Unless growing is allowed."""
    five = seen("Bash", {"command": "ls"}, "12345")
    assert placeholder_for(five, "1234", EN) == "1234"
    assert placeholder_for(five, "12345", EN) is None
    assert placeholder_for(five, "123456", EN, may_grow=True) == "123456"


def test_what_was_replaced_stays():
    """By this placeholder or by any that comes with Redline, of this version or an earlier one."""
    for text in ("own", EN.stale_terminal, "[Tool result left out]", "[The output of this command is out of date]"):
        assert placeholder_for(seen("Bash", {"command": "ls"}, text), "own", EN, may_grow=True) is None


def test_fields_are_filled_in_once():
    """What a path says is not looked at again, and other braces are words."""
    read_of = seen("Read", {"file_path": "a {size}.py"}, "x" * 2000)
    assert (
        placeholder_for(read_of, "{what} | {size} | {again} | {other}", EN)
        == "Read a {size}.py | 2 kB | if it exists, read it again | {other}"
    )


def test_unprintable_names_are_made_printable():
    """Neither line breaks nor control characters nor halves of characters reach the placeholder."""
    filled = placeholder_for(seen("Bash", {"command": "a\n\x1b[1mb\x00 \u202e"}, "x" * 500), "{what}", EN)
    assert filled is not None
    assert filled.isprintable()
    filled.encode()
