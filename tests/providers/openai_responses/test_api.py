"""Bodies of OpenAI's Responses API."""

import json

import pytest

from redline.providers.openai_responses.api import OpenAIResponsesApi

SAID = {"role": "user", "content": "Hello."}


def read(**fields):
    return OpenAIResponsesApi().read(json.dumps({"model": "gpt-5", "input": [SAID], **fields}).encode(), "/v1/responses")


def test_what_the_body_says():
    """The model, whether it streams, and the key under which the client wants its prefix kept."""
    body = read(stream=True, prompt_cache_key="thread-1", store=False, previous_response_id=None)
    assert (body.model, body.is_streamed, body.session, body.untouchable) == ("gpt-5", True, "thread-1", "")


def test_the_preamble_is_what_the_cache_key_holds():
    """Instructions, tools, the shape of the text and the reasoning asked for."""
    held = {"instructions": "Be brief.", "tools": [{"type": "function", "name": "a"}], "reasoning": {"effort": "low"}}
    assert read(**held, client_metadata={"b": 1}, include=[]).preamble == held


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"previous_response_id": "resp_1"}, "previous_response_id"),
        ({"conversation": "conv_1"}, "conversation"),
        ({"conversation": {"id": "conv_1"}}, "conversation"),
        ({"generate": False}, "generate"),
        ({"input": "Hello."}, "no list"),
        ({"input": [SAID, {"type": "item_reference", "id": "msg_1"}]}, "item_reference"),
    ],
)
def test_histories_kept_by_the_service_are_untouchable(fields, reason):
    """What is not in the body cannot be judged, and a call that only warms the cache asks nothing."""
    assert reason in read(**fields).untouchable
