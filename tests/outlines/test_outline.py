"""Outlines: what they have, that they keep to their budget, and that each name in them leads to its place."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import redline
from redline import FORMATS
from redline.outlines.earlier import parse_outline
from redline.testing import conversation, conversations, says
from tests.outlines.history_of import MORE, TASK, native

REFERENCE = re.compile(r"^(?:- )?(\d*#\d+\.\d+) ", re.MULTILINE)


@pytest.mark.parametrize("format", sorted(FORMATS))
def test_an_outline_has_what_is_needed_to_go_on(format):
    """The user's words to the letter, open to-dos, failures that were not repaired, changes, decisions."""
    text = redline.outline(native(format), format=format).text
    assert TASK in text
    assert MORE in text
    assert "[ ] Add tests" in text
    assert "Fix total" not in text
    assert "orders.py (changed): +return sum_of(items)" in text
    assert "pytest -q → Exit code 1 | FAILED tests/test_orders.py::test_total" in text
    assert "ruff" not in text, "it passes by now"
    assert "The root cause is that total_items ignores discounts." in text


def test_chinese_words_for_chinese_policies():
    """Headings are in the words of the policy."""
    made = redline.outline(native("anthropic"), policy=redline.Policy(words=redline.ZH))
    assert "用户原话:" in made.text
    assert "The user said" not in made.text


@pytest.mark.parametrize("format", sorted(FORMATS))
@settings(max_examples=15)
@given(data=st.data())
def test_outlines_are_within_budget_deterministic_and_lead_somewhere(format, data):
    """Of any legal conversation: the same text each time, legal where it stands, and every reference can be read."""
    messages = data.draw(conversations(format))
    budget = data.draw(st.sampled_from([150, 400, 4000]))
    made = redline.outline(messages, format=format, budget_tokens=budget)
    assert made == redline.outline(messages, format=format, budget_tokens=budget)
    assert made.tokens <= budget
    talk = redline.Conversation(messages, format=format)
    for reference in REFERENCE.findall(made.text):
        assert talk.recall(reference)


@given(
    said=st.lists(
        st.text(st.characters(codec="utf-8"), min_size=1, max_size=60).map(str.strip).filter(bool), min_size=1, max_size=6
    )
)
def test_the_users_words_are_there_to_the_letter_and_come_back(said):
    """Whatever they look like, headings and references among them."""
    said = [f"say {one}" for one in [*said, "To do:\n- #1.0 x", "#3.0 (lines: 9)"]]
    messages = conversation("anthropic", [turn for one in said for turn in (says("user", one), says("assistant", "ok"))])
    text = redline.outline(messages).text
    assert all(one in text for one in said)
    items = parse_outline(text, 0) or []
    assert [one.text for one in items if one.section == "user"] == said


def test_more_words_than_the_budget_has_room_for():
    """The latest text stays whole, long ones are cut in their middle, the others are named."""
    long = "begin " + "word " * 3000 + "end"
    said = [long, *(f"text {number} " + "more " * 80 for number in range(40)), "the latest words"]
    made = redline.outline(conversation("anthropic", [says("user", one) for one in said]), budget_tokens=1000)
    assert made.tokens <= 1000
    assert "the latest words" in made.text
    assert "begin word" in made.text
    assert "word end" in made.text
    assert "[…]" in made.text
    assert re.search(r"\(\d+ more of the user: #1\.0 ", made.text)
    assert made.left_out[0].text == long


def test_an_outline_of_an_outline_keeps_what_the_first_had():
    """The user's words and places of the first are carried over, and name the conversation that they are of."""
    talk = redline.Conversation(native("anthropic"))
    first = talk.compact("outline", keep_last=1)
    for number in range(40):
        first.add({"role": "user", "content": f"{number} " + "go on " * 30})
    second = first.compact("outline", keep_last=1, budget_tokens=3000)
    text = redline.read_messages(second.messages)[0].text
    assert f"0#0.0 (lines: 4)\n{TASK}" in text
    assert "pytest -q → " in text
    assert second.recall("0#0.0") == TASK
    assert second.recall("1#2.0").startswith("0 go on")


@pytest.mark.parametrize("bad", [0, 99, -1, "4000", 1.5, True])
def test_a_budget_is_checked(bad):
    """Too small, or no number."""
    with pytest.raises(redline.ValidationError, match="budget_tokens"):
        redline.outline(native("anthropic"), budget_tokens=bad)
