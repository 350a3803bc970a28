import json

from redline import Conversation
from redline.rules.masked_results import MaskedResults
from redline.testing import asks, conversation, says

HISTORY = conversation(
    "anthropic",
    [says("user", "hi"), *(turn for number in range(4) for turn in asks("Bash", {}, "line " * 50, id=f"c{number}"))],
)


def request():
    return Conversation(HISTORY).request(now=0, rules=[MaskedResults(keep_recent=1)])


def test_body_and_messages_say_the_same():
    """The bytes are the JSON of the messages."""
    made = request()
    assert json.loads(made.body) == made.messages
    assert made.format == "anthropic"


def test_stats_add_up():
    """What the rules and tools save is the difference between before and after."""
    stats = request().stats
    saved = stats.tokens_before - stats.tokens_after
    assert saved > 0
    assert sum(saving.tokens for saving in stats.by_rule.values()) == saved
    assert sum(saving.tokens for saving in stats.by_tool.values()) == saved


def test_explanation_names_numbers_and_the_way_back():
    """A person reads how much, why, and how to undo it."""
    told = request().explain()
    assert "masked_results: 3 struck" in told
    assert "Applied at once. Undo: 0." in told
