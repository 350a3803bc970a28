import pytest

from redline.agents.transcripts import CacheCreation, Usage
from redline.agents.transcripts.chat import CacheDetails, ChatTokens, chat_answer, chat_call, chat_usage
from redline.providers.openai_chat.messages import OpenAIChat


def test_arguments_become_json_text_once():
    """An object is encoded as the provider wants it; text that is already JSON stays as it is."""
    made = [chat_call("c", "read", arguments) for arguments in ({"path": "é"}, '{"path":"é"}')]
    assert [call["function"]["arguments"] for call in made] == ['{"path":"é"}', '{"path":"é"}']


@pytest.mark.parametrize(
    ("content", "failed", "is_error"), [("fine", False, False), ("no", True, True), ("Error: no", True, True)]
)
def test_a_failure_is_read_back_as_one(content, failed, is_error):
    """Whatever the words, a failed answer is an error to the format."""
    (result,) = OpenAIChat().read(chat_answer("c", content, failed=failed)).results
    assert (result.call_id, result.is_error) == ("c", is_error)


def test_nothing_is_added_where_the_words_tell_the_failure():
    """An answer that says `Error:` is sent as the provider saw it, without a field of ours."""
    assert chat_answer("c", "Error: no", failed=True).keys() == {"role", "tool_call_id", "content"}


@pytest.mark.parametrize(
    ("tokens", "usage"),
    [
        (None, None),
        (ChatTokens(), None),
        (ChatTokens(100, 7), Usage(100, 7)),
        (ChatTokens(100, 7, CacheDetails(60)), Usage(40, 7, 60)),
        (ChatTokens(100, 7, None, 60, 30), Usage(10, 7, 60, 30)),
        (ChatTokens(100, 7, CacheDetails(60, CacheCreation(20)), None, 30), Usage(10, 7, 60, 30, 20)),
        (ChatTokens(10, 7, CacheDetails(60)), Usage(0, 7, 60)),
    ],
)
def test_cached_tokens_are_part_of_the_prompt(tokens, usage):
    """The provider's prompt tokens include the cached ones; ours are counted apart and never negative."""
    assert chat_usage(tokens) == usage
