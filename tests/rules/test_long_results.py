"""Of an over-long result the first and the last lines stay."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redline.errors import ValidationError
from redline.rules.long_results import LongResults
from redline.values.messages import Media, Message, Text
from redline.values.words import EN
from tests.rules.folding import PIXEL, applied, check_laws, histories, marked, marks_of, native, read, step, steps

RULE = LongResults(max_chars=300, notice=EN.cut)


def cut(text: str, rule: LongResults = RULE) -> str:
    (mark,) = marks_of(rule, read(native(steps(("mystery", {}, text)))))
    assert isinstance(mark.replacement, str)
    return mark.replacement


def test_whole_lines_stay_at_both_ends_and_the_rest_is_counted():
    """The notice says how many lines and characters are missing."""
    text = "\n".join(f"line {number}" for number in range(1000))
    lines = cut(text).split("\n")
    (place,) = [number for number, line in enumerate(lines) if "left out" in line]
    assert lines[:place] == text.split("\n")[:place]
    assert lines[place + 1 :] == text.split("\n")[-(len(lines) - place - 1) :]
    missing = 1000 - (len(lines) - 1)
    assert lines[place].startswith(f"[{missing} lines, ")


def test_a_line_that_is_too_long_is_cut():
    """A result without line breaks keeps its first and last characters."""
    short = cut("a" * 5000 + "z" * 5000)
    assert short.startswith("aaa")
    assert short.endswith("zzz")
    assert len(short) <= 300


def test_a_result_of_the_greatest_length_stays():
    """Only what is longer is cut."""
    assert marked(RULE, steps(("mystery", {}, "a" * 300))) == []
    assert marked(RULE, steps(("mystery", {}, "a" * 301))) == [2]


def test_failures_are_cut_only_on_request():
    """An error message stays whole by default."""
    failed = step(0, "Bash", {"command": "make"}, "a" * 400, is_error=True)
    assert marked(RULE, failed) == []
    assert marked(LongResults(max_chars=300, errors_too=True), failed) == [1]


def test_pictures_beside_long_words_stay():
    """Only the words are cut."""
    messages = read(native(step(0, "Read", {"file_path": "a"}, (Text("a" * 400), Media("image/png", PIXEL)))))
    after = applied(messages, marks_of(RULE, messages))
    (result,) = after[1].results
    assert [type(part) for part in result.parts] == [Text, Media]
    assert len(result.text) <= 300


@pytest.mark.parametrize("settings", [{"max_chars": 10}, {"notice": "{what}"}, {"notice": "{"}])
def test_settings_that_cannot_work_are_refused(settings):
    """There must be room for the notice, and its fields must be known."""
    with pytest.raises(ValidationError, match="long_results"):
        LongResults(**settings)


@given(st.text("ab\n", min_size=301, max_size=2000))
def test_nothing_is_miscounted(text: str):
    """What is left and what is missing are together all there was."""
    lines = cut(text).split("\n")
    notice = next(line for line in lines if "left out" in line)
    kept = len("\n".join(lines)) - len(notice)
    missing = int(notice.split(" lines, ")[1].split(" ")[0].replace(",", ""))
    assert len(text) - missing in range(kept - 2, kept + 1)


@given(histories())
def test_laws(messages: list[Message]):
    """Errors stay, nothing grows, and twice is once."""
    check_laws(LongResults(max_chars=200), messages)
