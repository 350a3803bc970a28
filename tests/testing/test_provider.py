"""A provider on this machine."""

import json
import urllib.error
import urllib.request

import pytest

from redline.testing import asks, fake_provider, says
from redline.values.messages import Text

HELLO = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}


def post(url: str, body: object) -> tuple[int, dict]:
    asked = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(asked, timeout=5) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as refused:
        with refused:
            return refused.code, json.load(refused)


def test_it_says_what_it_was_told_and_then_that_it_is_done():
    """One reply for each request that it takes; every request is kept."""
    with fake_provider([*asks("read", {"path": "a"}, None), says("assistant", "seen")]) as provider:
        said = [post(f"{provider.url}/v1/messages", HELLO)[1] for _ in range(3)]
    assert said[0]["content"][0]["name"] == "read"
    assert [answer["stop_reason"] for answer in said] == ["tool_use", "end_turn", "end_turn"]
    assert [answer["content"][0].get("text") for answer in said] == [None, "seen", "Done."]
    assert [exchange.body for exchange in provider.exchanges] == [HELLO] * 3
    assert said[0]["usage"]["input_tokens"] > 0


def test_what_is_refused_takes_no_reply():
    """The next request gets it."""
    with fake_provider([says("assistant", "first")]) as provider:
        status, refusal = post(f"{provider.url}/v1/messages", {"messages": [{"role": "assistant", "content": "hi"}]})
        assert (status, refusal["error"]["type"]) == (400, "invalid_request_error")
        assert post(f"{provider.url}/v1/messages", HELLO)[1]["content"][0]["text"] == "first"
        assert provider.statuses == [400, 200]


def test_a_reply_can_depend_on_what_was_sent():
    """It is given the messages as they came."""
    with fake_provider([lambda messages: ("assistant", (Text(messages[-1].text.upper()),))]) as provider:
        _, answer = post(f"{provider.url}/chat/completions", HELLO)
    assert answer["choices"][0]["message"]["content"] == "HI"


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("/v1/chat/completions", HELLO, 200),
        ("/v1/responses", {"model": "m", "input": [{"role": "user", "content": "hi"}]}, 200),
        ("/v1beta/models/m:generateContent", {"contents": [{"role": "user", "parts": [{"text": "hi"}]}]}, 200),
        ("/v1beta/models/m:generateContent", {}, 400),
        ("/v1beta/models/m:streamGenerateContent", {}, 400),
        ("/v1/messages", {**HELLO, "messages": [], "stream": True}, 400),
        ("/v1/nowhere", {}, 404),
        ("/v1/messages", [], 400),
    ],
)
def test_it_listens_where_the_providers_do(path, body, status):
    """Elsewhere there is nothing."""
    with fake_provider() as provider:
        assert post(provider.url + path, body)[0] == status
        assert provider.statuses == [status]


def test_it_is_gone_behind_the_block():
    """Also when the block fails."""
    with pytest.raises(KeyError), fake_provider() as provider:
        raise KeyError
    with pytest.raises(urllib.error.URLError):
        post(f"{provider.url}/v1/messages", HELLO)
