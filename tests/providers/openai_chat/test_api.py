"""Bodies of OpenAI's Chat Completions."""

import json

from redline.providers.openai_chat.api import OpenAIChatApi


def read(**fields):
    body = {"model": "gpt-5", "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}]}
    return OpenAIChatApi().read(json.dumps({**body, **fields}).encode(), "/v1/chat/completions")


def test_what_the_body_says():
    """The model, whether it streams, and the key under which the client wants its prefix kept."""
    body = read(stream=True, prompt_cache_key="thread-1")
    assert (body.model, body.is_streamed, body.session) == ("gpt-5", True, "thread-1")
    assert (read().is_streamed, read().session) == (False, "")


def test_system_messages_are_messages():
    """The Editor deals with them; the preamble is what is sent beside the messages."""
    tools = [{"type": "function", "function": {"name": "read"}}]
    body = read(tools=tools, response_format={"type": "json_object"}, temperature=0, user="me")
    assert len(body.messages) == 2
    assert body.preamble == {"tools": tools, "response_format": {"type": "json_object"}}
