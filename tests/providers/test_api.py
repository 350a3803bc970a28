"""Bodies cut into messages, whichever API they are for."""

import json
import time

import msgspec
import pytest

from redline.providers import api as base
from redline.providers.apis import APIS, find_api

FIELDS = {"anthropic": "messages", "openai_chat": "messages", "openai_responses": "input", "gemini": "contents"}
PATHS = {
    "anthropic": "/v1/messages",
    "openai_chat": "/v1/chat/completions",
    "openai_responses": "/v1/responses",
    "gemini": "/v1beta/models/gemini-3-pro:generateContent",
}
SAID = {"gemini": {"role": "user", "parts": [{"text": "Hello."}]}}
USER = {"role": "user", "content": "Hello."}


@pytest.fixture(params=APIS, ids=lambda api: api.name)
def api(request):
    return request.param


def read(api, body):
    return api.read(body if isinstance(body, bytes) else json.dumps(body).encode(), PATHS[api.name])


@pytest.mark.parametrize("prefix", ["", "/any/prefix", "/v1/proxy"])
def test_apis_are_found_behind_any_prefix(api, prefix):
    """With and without the version, and after whatever a gateway puts ahead."""
    path = PATHS[api.name]
    short = path.replace("/v1beta", "").replace("/v1", "")
    assert find_api("POST", prefix + path) is api
    assert find_api("POST", prefix + short) is api
    assert find_api("GET", prefix + path) is None


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/v1/messages/count_tokens",
        "/v1/messages/batches",
        "/v1/messages/cache_touch",
        "/v1/threads/thread_1/messages",
        "/v1/responses/compact",
        "/v1/responses/input_tokens",
        "/v1/responses/resp_1/cancel",
        "/v1/completions",
        "/v1beta/models/gemini-3-pro:countTokens",
        "/v1beta/models/gemini-3-pro:batchGenerateContent",
        "/v1beta/models",
        "/v1/models",
        "/api/hello",
        "/v1/submessages",
    ],
)
def test_only_questions_with_a_history_are_taken(path):
    """Counting, compacting, batches and lists of models pass by."""
    assert find_api("POST", path) is None


def test_what_a_client_says_of_its_request(api):
    """Its messages as they are written, and nothing in the way of changing them."""
    said = SAID.get(api.name, USER)
    body = read(api, {"before": 1, FIELDS[api.name]: [said, said], "after": 2})
    assert body.messages == (json.dumps(said).encode(),) * 2
    assert (body.format, body.untouchable, body.preamble) == (api.name, "", {})


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"not JSON",
        b"[]",
        b'"text"',
        b"{}",
        b'{"FIELD":"a text"}',
        b'{"FIELD":null}',
        b'{"FIELD":[]}',
        b'{"FIELD":[1]}',
        b'{"FIELD":["text"]}',
        b'{"FIELD":[{}]} and more',
        b'{"FIELD":[' + b"[" * 100_000 + b"]" * 100_000 + b"]}",
        b'{"FIELD":[{"role":"user"}]',
        b"\xff\xfe{}",
    ],
)
def test_what_cannot_be_read_is_untouchable(api, body):
    """Nothing is refused here: the provider judges it, as it came."""
    found = read(api, body.replace(b"FIELD", FIELDS[api.name].encode()))
    assert found.untouchable
    assert found.splice(list(enumerate(found.messages))) is found.raw


def test_a_list_that_begins_with_a_result_is_untouchable(api):
    """The service keeps what came before it."""
    results = {
        "anthropic": {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "b"}]},
        "openai_chat": {"role": "tool", "tool_call_id": "a", "content": "b"},
        "openai_responses": {"type": "function_call_output", "call_id": "a", "output": "b"},
        "gemini": {"role": "user", "parts": [{"functionResponse": {"name": "a", "response": {}}}]},
    }
    ahead = {
        "openai_chat": [{"role": "developer", "content": "Be brief."}],
        "openai_responses": [{"role": "developer", "content": "Be brief."}],
    }
    found = read(api, {FIELDS[api.name]: [*ahead.get(api.name, ()), results[api.name]]})
    assert "begins with a result" in found.untouchable


def test_a_body_over_the_limit_is_untouchable(api, monkeypatch):
    """It is not even parsed."""
    monkeypatch.setattr(base, "MOST_BODY_BYTES", 10)
    assert "longer than" in read(api, {FIELDS[api.name]: [SAID.get(api.name, USER)]}).untouchable


def test_odd_values_in_other_fields_do_no_harm(api):
    """Fields of another type than they should have are the provider's business."""
    odd = ("model", "stream", "system", "tools", "metadata", "thread", "cache_control", "prompt_cache_key", "conversation")
    for value in (0, [], {}, "x", [1], True):
        found = read(api, {**dict.fromkeys(odd, value), FIELDS[api.name]: [SAID.get(api.name, USER)]})
        assert len(found.messages) == 1


def test_half_an_emoji_is_read(api):
    """Tools cut texts anywhere, so half an emoji comes as an escape; the fast parser refuses it, here it is read."""
    said = json.dumps(SAID.get(api.name, USER)).replace("Hello", "Hello \\ud83d é")
    raw = f' {{"tools":[{{"name":"\\ud83d"}}],"{FIELDS[api.name]}": [{said} , {said}],"é":NaN}}'.encode()
    found = read(api, raw)
    assert (found.preamble, found.untouchable) == ({"tools": [{"name": "\ud83d"}]}, "")
    assert found.messages == (said.encode(),) * 2
    assert found.splice([(0, found.messages[0]), (1, b"{}")]) == raw.replace(f", {said}".encode(), b", {}")


def test_cutting_costs_little_more_than_the_parser(api):
    """A body of 5 MB is cut in at most twice the time of the bare cut, measured one after the other."""
    said = {"gemini": {"role": "user", "parts": [{"text": "word \n" * 430}]}}.get(
        api.name, {"role": "user", "content": [{"type": "text", "text": "word \n" * 430}]}
    )
    body = json.dumps({FIELDS[api.name]: [said] * 1_620, "system": "s" * 20_000}).encode()
    bare = msgspec.json.Decoder(api.fields).decode

    def seconds(call):
        start = time.perf_counter()
        call()
        return time.perf_counter() - start

    pairs = [(seconds(lambda: read(api, body)), seconds(lambda: tuple(map(bytes, bare(body).messages)))) for _ in range(20)]
    assert min(mine / parser for mine, parser in pairs) < 2
