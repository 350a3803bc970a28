from contextlib import nullcontext

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redline import FORMATS, Conversation, ExecutionError, ValidationError, check
from redline.engine.compaction import LEAD, Breaker
from redline.providers import find_format
from redline.testing import asks, conversation, conversations, says
from redline.tokens import count_message


def talk(steps=4):
    turns = [turn for number in range(steps) for turn in asks("Bash", {}, "line " * 80, id=f"c{number}")]
    return Conversation(conversation("openai_chat", [says("system", "be brief"), says("user", "go"), *turns]))


def test_new_conversation_names_its_origin_and_the_old_one_stays():
    """The compacted conversation begins with the system prompt and the summary; the original is unchanged."""
    original = talk()
    before = original.all_messages
    compacted = original.compact(lambda messages: f"{len(messages)} messages", keep_last=4)
    assert compacted is not original
    assert compacted.origin == "memory"
    assert [message["role"] for message in compacted.messages] == ["system", "user", "assistant", "tool", "assistant", "tool"]
    assert compacted.messages[1]["content"] == LEAD + "5 messages"
    assert (original.all_messages, original.visible_indices) == (before, list(range(10)))


def test_in_place_it_is_a_view_that_a_rollback_undoes():
    """The same conversation shows the summary; going back to the batch before shows everything again."""
    one = talk()
    before = one.messages
    assert one.compact(lambda _: "short", keep_last=4, in_place=True) is one
    assert len(one.messages) == 6
    one.rollback(0)
    assert one.messages == before


def test_preview_changes_nothing():
    """One can see what would be summarised."""
    one = talk()
    plan = one.preview_compaction(keep_last=4)
    assert (plan.head, plan.replaced, plan.tail) == ((0,), (1, 2, 3, 4, 5), (6, 7, 8, 9))
    assert one.current_batch == 0


@pytest.mark.parametrize(
    ("summarize", "why"),
    [(lambda _: "  ", "is empty"), (lambda _: "word " * 5000, "no fewer than"), (lambda _: 1 / 0, "division by zero")],
)
def test_bad_summary_changes_nothing_and_says_why(summarize, why):
    """Empty, longer than what it replaces, or failed: everything is as it was."""
    one = talk()
    before = one.messages
    with pytest.raises(ExecutionError, match=why):
        one.compact(summarize, keep_last=4, in_place=True)
    assert (one.messages, one.current_batch) == (before, 0)


@pytest.mark.parametrize(("more", "is_done"), [(-1, True), (0, False), (1, False)])
def test_a_summary_must_be_shorter_than_what_it_replaces(more, is_done):
    """One that has as many tokens saves nothing."""

    class Chars:
        name = "chars"

        def count(self, text):
            return len(text)

    one = Conversation(talk().messages, counter=Chars())
    least = count_message(find_format("openai_chat").read({"role": "user", "content": LEAD}), Chars()).total
    summary = "x" * (one.preview_compaction(keep_last=4).tokens - least + more)
    with nullcontext() if is_done else pytest.raises(ExecutionError, match="no fewer than"):
        one.compact(lambda _: summary, keep_last=4, in_place=True)
    assert (len(one.messages) == 6) == is_done


def test_cut_moves_to_where_no_exchange_is_parted():
    """A cut between a call and its result moves back before the call."""
    one = talk()
    assert one.preview_compaction(keep_last=3).tail == (6, 7, 8, 9)
    with pytest.raises(ExecutionError, match="nothing to compact"):
        one.preview_compaction(keep_last=10)
    with pytest.raises(ValidationError, match="keep_last"):
        one.preview_compaction(keep_last=-1)


def test_conversation_compacts_itself_until_that_does_not_help():
    """Past the limit it compacts; after failures in a row it stops and says so."""
    asked = []
    one = talk()
    one.compact_when(tokens=100, summarize=lambda messages: asked.append(messages) or "short", keep_last=2)
    assert one.check_tokens() < 600
    assert len(asked) == 1
    failing = talk()
    failing.compact_when(tokens=10, summarize=lambda messages: asked.append(messages) or "", keep_last=2, most_failures=2)
    for _ in range(5):
        failing.check_tokens()
    assert len(asked) == 3


def test_breaker_closes_again_on_success():
    """One success forgets the failures."""
    breaker = Breaker(2)
    breaker.failed("a")
    breaker.succeeded()
    breaker.failed("b")
    assert not breaker.is_open
    breaker.failed("c")
    assert breaker.why == "c"


@given(data=st.data(), format=st.sampled_from(list(FORMATS)), keep=st.integers(0, 8))
def test_compacted_conversations_are_legal_in_every_format(data, format, keep):
    """Wherever it is cut: what is sent is legal without any repair, and the kept messages are the last ones."""
    history = data.draw(conversations(format, with_extras=False))
    one = Conversation(history, format=format)
    try:
        compacted = one.compact(lambda _: "s", keep_last=keep)
    except ExecutionError:
        return
    request = compacted.request(now=0)
    assert check(request.messages, format=format) == []
    assert request.repairs == ()
    assert compacted.messages[1:] == (history[-len(compacted.messages) + 1 :] if len(compacted.messages) > 1 else [])
