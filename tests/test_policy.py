import pytest

from redline import DOCUMENTS, EN, Policy, Protection, ValidationError
from redline.rules import HistoricalReads, MaskedResults
from redline.schedules import Eager
from redline.tools import DEFAULT


def test_defaults_are_the_documents():
    """Their two rules in their words; when depends on the model."""
    policy = Policy()
    assert [rule.name for rule in policy.made_rules()] == ["stale_terminal", "historical_reads"]
    assert (policy.words, policy.strategy, policy.tool_book) == (DOCUMENTS, "drop", DEFAULT)
    assert policy.made_schedule(None, None).name == "eager"
    assert policy.made_schedule(None, "gpt-5.6").name == "when_free"
    assert Policy.documents().made_schedule(None, "gpt-5.6").name == "eager"
    assert policy.made_schedule(Eager(), "gpt-5.6") == Eager()


def test_rules_are_made_for_the_project_and_in_the_words():
    """By name and as objects; one request may have others."""
    policy = Policy(rules=["historical_reads", MaskedResults(keep_recent=1)], words=EN, project_root="/p")
    reads, masked = policy.made_rules()
    assert (reads.project_root, reads.words, masked.words) == ("/p", EN, EN)
    assert policy.made_rules([HistoricalReads(project_root="/q")])[0].project_root == "/q"


def test_policies_compare_and_print():
    """A value like any other."""
    assert Policy(rules=["stale_terminal"]) == Policy(rules=("stale_terminal",)) != Policy()
    assert "stale_terminal" in repr(Policy())


@pytest.mark.parametrize(
    ("wrong", "what"),
    [
        ({"rules": "stale_terminal"}, "rules"),
        ({"rules": ["nope"]}, "nope"),
        ({"schedule": "nope"}, "nope"),
        ({"strategy": "nope"}, "strategy"),
        ({"words": "en"}, "words"),
        ({"protection": {"tools": []}}, "protection"),
        ({"tool_book": {}}, "tool_book"),
        ({"project_root": b"/p"}, "project_root"),
    ],
)
def test_a_wrong_setting_is_refused_and_named(wrong, what):
    """Where the policy is made, not at the first request (R35)."""
    with pytest.raises(ValidationError, match=what):
        Policy(**wrong)


def test_protection_is_part_of_it():
    """And checked by its type."""
    assert Policy(protection=Protection(tools=frozenset({"x"}))).protection.tools == {"x"}
