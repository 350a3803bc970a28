from redline.formats import FORMATS
from redline.formats.voting import FormatVote

HI = {"role": "user", "content": "hi"}
CALL = {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "read", "input": {}}]}
ANSWER = {"role": "tool", "content": [{"type": "tool-result", "toolCallId": "a", "toolName": "read", "result": "x"}]}


def test_first_telling_message_decides():
    """Plain words fit several formats; a block that only one of them has decides."""
    vote = FormatVote()
    vote.add(HI)
    assert vote.winner.name == "openai_chat"
    vote.add(CALL)
    assert vote.winner.name == "anthropic"


def test_later_message_can_still_change_it():
    """A message that the present winner cannot have written puts it out."""
    vote = FormatVote()
    for message in (HI, CALL, ANSWER):
        assert vote.accepts(message)
        vote.add(message)
    assert vote.winner.name == "ai_sdk"


def test_message_of_another_format_is_not_accepted():
    """Once no format is left that fits both, the message is foreign."""
    vote = FormatVote()
    vote.add({"role": "user", "parts": [{"text": "hi"}]})
    assert not vote.accepts(CALL)


def test_fixed_format_is_not_voted_on():
    """A format that was named stays."""
    vote = FormatVote(FORMATS["anthropic"])
    vote.add(HI)
    assert vote.winner.name == "anthropic"
