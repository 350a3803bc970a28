"""Summaries held against the outline of what they replace."""

import pytest

import redline
from redline import FORMATS
from tests.outlines.history_of import MORE, TASK, native


@pytest.mark.parametrize("format", sorted(FORMATS))
def test_what_a_summary_leaves_out_is_listed_and_appended(format):
    """To the letter, within the budget."""
    check = redline.check_summary(native(format), "Worked on orders.py.", format=format, budget_tokens=600)
    assert {"user", "failures", "plan"} <= {one.section for one in check.missing}
    assert "orders.py" not in {one.text.partition(" ")[0] for one in check.missing if one.section == "files"}
    assert TASK in check.appendix
    assert MORE in check.appendix
    assert redline.tokens.Estimate().count(check.appendix) <= 600
    assert 0 <= check.mentioned < check.likely


def test_an_outline_misses_nothing_of_importance():
    """The yardstick measures itself: nothing that the user said is missing, and no fact."""
    messages = native("anthropic")
    check = redline.check_summary(messages, redline.outline(messages).text)
    assert {one.section for one in check.missing} <= {"words"}
    assert check.share > 0.9


def test_compact_appends_what_is_missing():
    """With `check`, whoever writes the summary."""
    talk = redline.Conversation(native("anthropic"))
    made = talk.compact(lambda _: "Worked on orders.py.", keep_last=2, check=True, budget_tokens=500)
    text = made.messages[0]["content"][0]["text"]
    assert text.startswith("Summary of the earlier conversation:\n\nWorked on orders.py.\n\n[Not in this summary")
    assert MORE in text
    assert made.recall("0#0.0") == TASK


@pytest.mark.parametrize(("summary", "budget"), [(None, 500), ("x", 10)])
def test_wrong_input_is_refused(summary, budget):
    """At the door."""
    with pytest.raises(redline.ValidationError):
        redline.check_summary(native("anthropic"), summary, budget_tokens=budget)
