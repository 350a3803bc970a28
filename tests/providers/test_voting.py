from redline.providers import FORMATS, FormatVote

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


def test_candidates_are_what_is_still_possible():
    """In the order of the list of formats, fewer with every message that is telling."""
    vote = FormatVote()
    assert vote.candidates == tuple(FORMATS)
    vote.add(HI)
    assert vote.candidates == ("openai_chat", "anthropic", "openai_responses", "ai_sdk")
    vote.add(CALL)
    assert vote.candidates == ("anthropic", "ai_sdk")
    vote.add(ANSWER)
    assert vote.candidates == ("ai_sdk",)
    assert FormatVote(FORMATS["gemini"]).candidates == ("gemini",)


def test_settled_vote_does_not_look_at_messages_any_more():
    """Once one format is left no message can change the winner, so none is decoded."""
    vote = FormatVote()
    vote.add({"role": "user", "parts": [{"text": "hi"}]})
    before = vote.votes
    vote.add(b"this is not even JSON")
    assert (vote.winner.name, vote.votes) == ("gemini", before)
