import json

import pytest

from redline import Conversation, ValidationError
from redline.providers import FORMATS
from redline.record.blobs import DirectoryBlobs
from redline.rules import Mark, MaskedResults, OffloadResults, TimelessFold
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


def test_breakpoints_leave_the_messages_alone():
    """Marked messages are copies: changing them changes nothing in the request, nor in what is marked next time."""
    made = request()
    marked = made.with_breakpoints()
    marked[0]["content"][0]["text"] = marked[2]["content"][0]["content"] = "changed"
    made.messages[0]["content"] = "changed"
    assert made.with_breakpoints()[0]["content"][0]["text"] == "hi"
    assert json.loads(made.body)[0] == HISTORY[0]


class Forgets(TimelessFold):
    """A rule that takes out whole messages."""

    name = "forgets"

    def fold(self):
        return self

    def see(self, seen):
        if getattr(seen.part, "text", "") == "forget this":
            yield Mark("forgets", seen.index, seen.part.at, None, "told so")


@pytest.mark.parametrize("format", FORMATS)
def test_messages_are_the_same_before_and_after_the_bytes_were_made(format):
    """Strikes are carried out on objects, or on bytes: words and whole messages, in every format."""
    turns = [turn for number in range(4) for turn in asks("Bash", {"n": number}, "line " * 50, id=f"call_{number}")]
    said = conversation(format, [*[says("user", "forget this")] * 2, says("user", "hi"), *turns])
    history, rules = [{**one, "timestamp": 5} for one in said], [MaskedResults(keep_recent=1), Forgets()]
    objects, sent = (Conversation(history, format=format).request(now=10**12, rules=rules) for _ in range(2))
    assert {strike.rule for strike in objects.new_strikes} == {"masked_results", "forgets"}
    assert objects.messages == json.loads(sent.body) == sent.messages == json.loads(objects.body)


def test_breakpoints_count_the_messages_that_are_sent():
    """A message of which nothing is left takes no place."""
    gone = conversation("anthropic", [says("user", "forget this")] * 2)
    talk = Conversation([*gone, *HISTORY])
    talk.request(now=0, rules=[Forgets()])
    moved, made = talk.request(now=0, rules=[MaskedResults(keep_recent=1)]), request()
    assert moved.messages == made.messages
    assert moved.first_struck == made.first_struck
    assert moved.with_breakpoints() == made.with_breakpoints()


def test_breakpoints_are_for_anthropic():
    """Other formats have no place for them, and the error says so."""
    with pytest.raises(ValidationError, match=r"Only Anthropic takes cache breakpoints.*openai_chat"):
        Conversation(conversation("openai_chat", [says("user", "hi")]), format="openai_chat").request(now=0).with_breakpoints()


def test_the_first_strike_is_named_by_message_and_block():
    """A message whose content is a text has one block."""
    said = [says("user", "hi"), *(turn for number in range(2) for turn in asks("Bash", {}, "line " * 50, id=f"c{number}"))]
    talk = Conversation(conversation("openai_chat", said))
    assert talk.request(now=0, rules=[MaskedResults(keep_recent=1)]).first_struck == (2, 0)


def test_a_request_stays_what_it_was():
    """Strikes of later requests, and what is said later, are not in it, however late one looks."""
    talk = Conversation(HISTORY)
    first, twin = (talk.request(now=0, rules=[]) for _ in range(2))
    before = twin.messages, twin.body
    later = talk.request(now=1, rules=[MaskedResults(keep_recent=1)])
    talk.add({"role": "user", "content": "more"})
    assert len(later.strikes) == 3
    assert (first.messages, first.body, first.strikes) == (*before, ())


def test_where_the_store_fails_only_what_needs_it_is_refused(tmp_path):
    """A stub that refers to nothing is not sent; other strikes go out all the same."""
    blobs = DirectoryBlobs(tmp_path / "blobs")
    talk = Conversation([*conversation("anthropic", [says("user", "forget this")]), *HISTORY], blobs=blobs)
    (tmp_path / "blobs").write_text("in the way")
    made = talk.request(now=0, rules=[Forgets(), OffloadResults(min_chars=100, stub="{reference}")])
    assert [strike.rule for strike in made.new_strikes] == ["forgets"]
    assert [(refusal.mark.rule, refusal.problem.law) for refusal in made.refused] == [("offload_results", "no_blobs")] * 4


def test_a_rule_of_ones_own_without_blobs_holds_up_no_other():
    """R161: what it would move away is sent whole, with the reason; what other rules strike is struck."""

    class MovesAway:
        name = "moves_away"

        def fold(self):
            return OffloadResults(min_chars=100, stub="{reference}").fold()

    talk = Conversation([*conversation("anthropic", [says("user", "forget this")]), *HISTORY])
    made = talk.request(now=0, rules=[Forgets(), MovesAway()])
    assert [strike.rule for strike in made.new_strikes] == ["forgets"]
    assert {refusal.problem.law for refusal in made.refused} == {"no_blobs"}
    assert "blobs=" in made.refused[0].problem.found


def test_a_strike_is_not_in_force_on_another_version():
    """A message that was replaced is sent as it is now, and what struck the earlier one is not listed."""
    talk = Conversation(HISTORY)
    rules = [MaskedResults(keep_recent=3)]
    assert [strike.index for strike in talk.request(now=0, rules=rules).strikes] == [2]
    result = {"type": "tool_result", "tool_use_id": "c0", "content": "new " * 50}
    talk.process({"operation": "replace", "replace": {"index": 2, "message": {"role": "user", "content": [result]}}})
    made = talk.request(now=1, rules=[MaskedResults(keep_recent=4)])
    assert (made.strikes, made.messages[2]["content"][0]["content"]) == ((), "new " * 50)
    assert len(talk.request(now=2, rules=rules).strikes) == 1
