"""`--report-usage unstruck`: the agent is told the tokens that would have been sent, and the accounts those that were."""

import json

import httpx
import pytest

from redline.conversation.editor import Editor
from redline.policy.policy import Policy
from redline.providers.answers import AnswerReader
from redline.providers.usage import Usage
from redline.proxy.unstruck_usage import UnstruckUsage
from redline.testing import fake_provider
from redline.testing.endpoints import ENDPOINTS
from redline.transport.editing import WireEditor
from redline.values.messages import Text
from tests.heavy_sessions import MODELS, PATHS, body_of, post, said, screenshots
from tests.proxy.support import proxy

every_api = pytest.mark.parametrize("endpoint", ENDPOINTS, ids=lambda one: one.format)


def read(format, content_type, answer):
    reader = AnswerReader(format, content_type, "")
    reader.feed(answer)
    return reader.finish()


@every_api
@pytest.mark.parametrize("size", [1, 7, 100_000])
@pytest.mark.parametrize("cached", [0, 60])
def test_streams_say_more_and_nothing_else_changes(endpoint, size, cached):
    """In pieces of any size; what was read from the cache grows where something was."""
    answer = endpoint.answer("m", [Text("Grüße, " * 20)], Usage(40, 9, cached, 0))
    events = b"".join(endpoint.stream(answer, {"stream_options": {"include_usage": True}}))
    rewriter = UnstruckUsage(endpoint.format, 1_000, is_stream=True)
    pieces = [rewriter.feed(events[start : start + size]) for start in range(0, len(events), size)]
    after = b"".join([*pieces, rewriter.finish()])
    before, told = read(endpoint.format, "text/event-stream", events), read(endpoint.format, "text/event-stream", after)
    assert told.messages == before.messages
    assert told.usage.input_tokens == before.usage.input_tokens + 1_000
    assert told.usage.cache_read_tokens == cached + (1_000 if cached else 0)
    assert told.usage.output_tokens == before.usage.output_tokens
    lines = zip(events.split(b"\n"), after.split(b"\n"), strict=True)
    assert all(old == new for old, new in lines if b"usage" not in old)


@every_api
def test_whole_answers_say_more(endpoint):
    """Also where the answer is a list, as Gemini's may be; what is no answer passes as it is."""
    answer = endpoint.answer("m", [Text("Hi")], Usage(40, 9, 0, 0))
    for given in (answer, [answer]):
        rewriter = UnstruckUsage(endpoint.format, 1_000, is_stream=False)
        assert rewriter.feed(json.dumps(given).encode()) == b""
        after = json.loads(rewriter.finish())
        (one,) = after if isinstance(after, list) else [after]
        assert read(endpoint.format, "application/json", json.dumps(one).encode()).usage.input_tokens == 1_040
    for given in (b"not JSON", b"{}", b'{"usage": null}'):
        rewriter = UnstruckUsage(endpoint.format, 1_000, is_stream=False)
        assert rewriter.feed(given) + rewriter.finish() == given


@pytest.mark.parametrize("format", PATHS)
@pytest.mark.parametrize("report", ["sent", "unstruck"])
def test_the_agent_is_told(format, report, tmp_path):
    """Through the proxy: the answer grows by what strikes took out, and the status keeps what the provider said."""
    editor = WireEditor(Editor(tmp_path / "store", policy=Policy(rules=["masked_results"], schedule="eager")))
    messages = [said(format, "Look."), *long_results(format, 20)]
    with fake_provider() as provider, proxy(provider.url, tmp_path, editor=editor, report_usage=report) as running:
        status, answer = post(f"http://127.0.0.1:{running.port}", format, body_of(format, messages))
        totals = running.settled(1)["totals"]
    assert status == 200
    sent, told = (
        read(format, "application/json", one).usage for one in (json.dumps(provider.exchanges[0].answer).encode(), answer)
    )
    assert totals["sent_tokens"] == sent.input_tokens
    assert totals["struck_tokens"] > 1_000
    assert told.input_tokens - sent.input_tokens == (totals["struck_tokens"] if report == "unstruck" else 0)


def test_a_compressed_answer_is_not_asked_for(tmp_path):
    """It could not be read on its way; without the setting the client's wish passes."""
    editor = WireEditor(Editor(tmp_path / "store", policy=Policy(rules=["masked_results"], schedule="eager")))
    seen = []
    with fake_provider() as provider, proxy(provider.url, tmp_path, editor=editor, report_usage="unstruck") as running:
        send = running.relay._client.send

        async def noting(method, url, headers, *others, **more):
            seen.append(dict(headers)["accept-encoding"])
            return await send(method, url, headers, *others, **more)

        running.relay._client.send = noting
        body = body_of("anthropic", [said("anthropic", "Look."), *long_results("anthropic", 20)])
        for content in (body, body_of("anthropic", [said("anthropic", "Hi")])):
            url = f"http://127.0.0.1:{running.port}{PATHS['anthropic']}"
            assert httpx.post(url, content=content, headers={"accept-encoding": "gzip"}).status_code == 200
    assert seen == ["identity", "gzip"]


def long_results(format, count):
    turns = []
    for number in range(count):
        call, *_ = screenshots(format, 1)[1:]
        turns += turn(format, call, f"call_{number}", number)
    return turns


def turn(format, call, name, number):
    words = f"line {number} of the output\n" * 100
    match format:
        case "anthropic":
            call["content"][0]["id"] = name
            return [call, {"role": "user", "content": [{"type": "tool_result", "tool_use_id": name, "content": words}]}]
        case "openai_chat":
            call["tool_calls"][0]["id"] = name
            return [call, {"role": "tool", "tool_call_id": name, "content": words}]
        case "openai_responses":
            call["call_id"] = name
            return [call, {"type": "function_call_output", "call_id": name, "output": words}]
    return [call, {"role": "user", "parts": [{"functionResponse": {"name": "screenshot", "response": {"output": words}}}]}]


def test_the_models_are_known():
    """The APIs of this test are those of the table."""
    assert set(MODELS) == {one.format for one in ENDPOINTS}
