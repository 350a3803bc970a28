"""Where the tool is not offered, and what becomes of an answer that goes wrong while the model is asked again."""

import json
import threading

import pytest

from redline.providers.apis import api_of, find_api
from redline.providers.offered_tool import offer_in, with_recall_tool
from redline.testing import says
from redline.values.messages import Text, ToolCall
from tests.proxy.recall.sdk_talk import MODELS, TOOL, Talk, output_of, recalling, tools_in
from tests.proxy.recall.test_interleavings import FOUND, LOOK, recalls, with_reference
from tests.proxy.support import upstream

FORMATS = ("anthropic", "openai_chat", "openai_responses", "gemini")
PATHS = {
    "anthropic": "/v1/messages",
    "openai_chat": "/v1/chat/completions",
    "openai_responses": "/v1/responses",
    "gemini": "/v1beta/models/gemini-3-pro:generateContent",
}
TWO = [with_reference((LOOK, recalls())), with_reference((FOUND,))]


def body_of(format, **fields):
    talk = Talk(format, "", is_streamed=False)
    talk._add("user", (Text("go"),))
    name = {"openai_responses": "input", "gemini": "contents"}.get(format, "messages")
    given = {"model": MODELS[format], name: talk.history, "tools": talk.tools()}
    if format == "openai_responses":
        given["store"] = False
    given = {key: held for key, held in {**given, **fields}.items() if held is not None}
    return find_api("POST", PATHS[format]).read(json.dumps(given).encode(), PATHS[format])


@pytest.mark.parametrize("format", FORMATS)
def test_a_free_choice_may_begin_with_the_tool(format):
    """The client's own tools stay as they are, and every byte outside of the list."""
    body = body_of(format)
    assert offer_in(body) == "may begin"
    sent = with_recall_tool(body.raw, format)
    assert TOOL in sent.decode()
    own, ours = json.loads(body.raw), json.loads(sent)
    assert tools_in(ours).startswith(tools_in(own)[:-3] if format == "gemini" else tools_in(own)[:-1])
    assert {name: held for name, held in ours.items() if name != "tools"} == {
        name: held for name, held in own.items() if name != "tools"
    }
    assert offer_in(api_of(format).read(sent, PATHS[format])) == "", "the name is taken"


@pytest.mark.parametrize(
    ("format", "fields", "offer"),
    [
        *((format, {"tools": None}, "") for format in FORMATS),
        *((format, {"tools": []}, "") for format in FORMATS),
        ("anthropic", {"tool_choice": {"type": "tool", "name": "Bash"}}, "may go on"),
        ("anthropic", {"tool_choice": {"type": "any"}}, "may go on"),
        ("anthropic", {"tool_choice": {"type": "none"}}, "may go on"),
        ("anthropic", {"tool_choice": {"type": "auto", "disable_parallel_tool_use": True}}, "may begin"),
        ("openai_chat", {"tool_choice": "required"}, "may go on"),
        ("openai_chat", {"tool_choice": {"type": "function", "function": {"name": "Bash"}}}, "may go on"),
        (
            "openai_chat",
            {"tool_choice": {"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": []}}},
            "may go on",
        ),
        ("openai_chat", {"tool_choice": "auto"}, "may begin"),
        ("openai_chat", {"n": 2}, ""),
        ("openai_chat", {"n": 1}, "may begin"),
        ("openai_responses", {"store": None}, ""),
        ("openai_responses", {"store": True}, ""),
        ("openai_responses", {"background": True}, ""),
        ("openai_responses", {"tool_choice": {"type": "allowed_tools", "mode": "auto", "tools": []}}, "may go on"),
        ("gemini", {"toolConfig": {"functionCallingConfig": {"mode": "ANY"}}}, "may go on"),
        ("gemini", {"tool_config": {"function_calling_config": {"mode": "AUTO"}}}, "may begin"),
        ("gemini", {"tools": [{"googleSearch": {}}]}, ""),
        ("gemini", {"generationConfig": {"candidateCount": 2}}, ""),
    ],
)
def test_where_a_client_would_notice_it_is_not_offered(format, fields, offer):
    """No tools, forced calls, named tools, several answers, answers that the service keeps."""
    assert offer_in(body_of(format, **fields)) == offer


def test_an_endless_stream_of_recalls_ends_as_an_error(tmp_path):
    """After eight the client gets an error of the provider's shape, whole or in the stream."""
    replies = [with_reference((recalls(),))] * 12
    for is_streamed in (False, True):
        folder = tmp_path / str(is_streamed)
        folder.mkdir()
        with recalling(folder, replies, "anthropic", is_streamed=is_streamed) as (talk, provider, _):
            talk.answer(talk.say("go").calls)
            with pytest.raises(Exception, match="9 times in a row"):
                talk.answer([ToolCall("c2", "Bash", {})])
        assert len(provider.exchanges) == 2 + 9


def test_a_session_that_began_without_the_tool_never_gets_it(tmp_path):
    """Its list of tools would change in the middle, and the cache with it; its placeholders name no tool."""
    with recalling(tmp_path, [says("assistant", "ok")] * 3, "anthropic", recall="file") as (talk, provider, _):
        talk.say("go")
        history = list(talk.history)
    with recalling(tmp_path, [says("assistant", "ok")] * 3, "anthropic") as (talk, provider, _):
        talk.history = history
        talk.answer([ToolCall("c1", "Bash", {})])
        talk.answer([ToolCall("c2", "Bash", {})])
    assert not any(TOOL in json.dumps(exchange.body) for exchange in provider.exchanges)


@pytest.mark.parametrize("format", FORMATS)
def test_a_session_goes_on_after_a_restart(format, tmp_path):
    """Tool, strikes and hidden turns are in the record: another proxy on the same store sends them again."""
    with recalling(tmp_path, [*TWO], format) as (talk, provider, running):
        talk.answer(talk.say("go").calls)
        talk.answer([ToolCall("c2", "Bash", {})])
        running.settled(4)
        history = list(talk.history)
        before = provider.exchanges[-1].body
    with recalling(tmp_path, [says("assistant", "ok")], format) as (talk, provider, _):
        talk.history = history
        talk.say("Go on.")
    after = provider.exchanges[0].body
    name = {"openai_responses": "input", "gemini": "contents"}.get(format, "messages")
    place = next(at for at, one in enumerate(before[name]) if at > 3 and TOOL in json.dumps(one))
    assert after[name][place : len(before[name])] == before[name][place:]
    assert tools_in(after) == tools_in(before)


def test_a_dry_run_and_a_subscription_see_nothing_of_it(tmp_path):
    """What is only observed arrives as it came."""
    with recalling(tmp_path, [says("assistant", "ok")], "anthropic", is_dry_run=True) as (talk, provider, _):
        talk.answer(talk.say("go").calls)
        talk.answer([ToolCall("c2", "Bash", {})])
    assert not any(TOOL in json.dumps(exchange.body) for exchange in provider.exchanges)


def test_with_recall_off_bytes_are_as_they_came(tmp_path):
    """Nothing is struck, folded or repaired here, so that the provider gets the very bytes; the answer comes as it was sent."""
    body = body_of("anthropic").raw
    for recall, is_same in (("off", True), ("file", True), ("tool", False)):
        with recalling(tmp_path, [], "anthropic", recall=recall, store=str(tmp_path / recall)) as (_, provider, running):
            answer = running.ask(body=body, headers=[("x-api-key", "k")])
            assert answer.status == 200
            assert (provider.exchanges[0].body == json.loads(body)) == is_same
            assert json.loads(answer.body) == provider.exchanges[0].answer


# --- what goes wrong in the middle


def answers(*steps):
    """An upstream that gives whole Anthropic answers; what is no dict is done to the connection."""
    steps = iter(steps)

    def serve(peer):
        while (seen := peer.read_request()) is not None:
            peer.seen.append(seen)
            step = next(steps)
            if callable(step):
                step(peer)
                return
            status, said = step if isinstance(step, tuple) else ("200 OK", step)
            peer.answer(said, status)

    return serve


def message(*content, reason="tool_use", **usage):
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-opus-5-5",
        "content": list(content),
        "stop_reason": reason,
        "stop_sequence": None,
        "usage": {"input_tokens": 7, "output_tokens": 3, **usage},
    }


CALL = {"type": "tool_use", "id": "t9", "name": TOOL, "input": {"search": "go"}}
ASKED = message({"type": "text", "text": "Let me look."}, CALL)


def asked(tmp_path, *steps, is_streamed=False):
    """What the client gets, the status of the proxy, and the upstream."""
    body = json.loads(body_of("anthropic").raw) | {"max_tokens": 100} | ({"stream": True} if is_streamed else {})
    with upstream(answers(*steps)) as up, recalling(tmp_path, [], "anthropic", url=up.url) as (_, _, running):
        got = running.ask(body=json.dumps(body).encode(), headers=[("x-api-key", "k")])
        return got, running.settled(1), up


def test_a_refusal_of_the_next_turn_is_told_as_it_is(tmp_path):
    """The provider's status and its words; both requests are counted."""
    error = {"type": "error", "error": {"type": "rate_limit_error", "message": "slow down"}}
    got, status, up = asked(tmp_path, ASKED, ("429 Too Many Requests", error))
    assert (got.status, json.loads(got.body)) == (429, error)
    assert len(up.seen) == 2
    assert status["totals"]["errors"] == {"429": 1}
    assert status["totals"]["output_tokens"] == 3


def test_an_upstream_that_breaks_off_is_a_502(tmp_path):
    """The connection closes before the next answer begins."""
    got, status, _ = asked(tmp_path, ASKED, lambda peer: peer.reset())
    assert got.status == 502
    assert json.loads(got.body)["error"]["type"] == "api_error"
    assert sum(status["totals"]["unreachable"].values()) == 1


def stream_of(*events):
    def serve(peer):
        peer.start_stream()
        for event in events:
            peer.event(event)

    return serve


BEGUN = (
    {"type": "message_start", "message": {**message(), "stop_reason": None}},
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Let me look."}},
    {"type": "content_block_stop", "index": 0},
    {"type": "content_block_start", "index": 1, "content_block": {**CALL, "input": {}}},
    {"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": '{"search": "go"}'}},
    {"type": "content_block_stop", "index": 1},
    {"type": "message_delta", "delta": {"stop_reason": "tool_use", "stop_sequence": None}, "usage": {"output_tokens": 3}},
    {"type": "message_stop"},
)


def test_a_stream_that_cannot_go_on_ends_with_an_error_event(tmp_path):
    """The client has words already: the error is an event of the provider's shape, and the stream has its end."""

    def first(peer):
        stream_of(*BEGUN)(peer)
        peer.end_stream()

    got, _, _ = asked(
        tmp_path,
        first,
        ("500 Internal Server Error", {"type": "error", "error": {"type": "api_error", "message": "no"}}),
        is_streamed=True,
    )
    events = [json.loads(line[6:]) for line in got.body.decode().splitlines() if line.startswith("data: ")]
    assert got.status == 200
    assert got.is_whole
    assert events[-1] == {"type": "error", "error": {"type": "api_error", "message": "no"}}
    assert TOOL not in got.body.decode()


def test_a_stream_that_is_cut_off_in_a_call_shows_nothing_of_it(tmp_path):
    """The words before it are there; the end is not, so that the client sees that it was cut off."""
    got, status, _ = asked(tmp_path, stream_of(*BEGUN[:6]), is_streamed=True)
    assert not got.is_whole
    assert b"Let me look." in got.body
    assert TOOL.encode() not in got.body
    assert status["totals"]["cut"] == {"upstream": 1}


def test_an_answer_that_ends_in_the_middle_of_a_call_is_not_asked_again(tmp_path):
    """The model ran out of tokens: the client gets its words and the reason."""
    got, _, up = asked(tmp_path, message({"type": "text", "text": "Let me"}, {**CALL, "input": {}}, reason="max_tokens"))
    said = json.loads(got.body)
    assert (said["stop_reason"], [block["type"] for block in said["content"]]) == ("max_tokens", ["text"])
    assert len(up.seen) == 1


def test_a_client_that_goes_ends_the_next_turn(tmp_path):
    """Nobody pays for what nobody reads: the provider's connection is closed."""
    closed = threading.Event()

    def wait(peer):
        if peer.is_closed_within(10):
            closed.set()

    body = json.dumps(json.loads(body_of("anthropic").raw) | {"max_tokens": 100}).encode()
    with upstream(answers(ASKED, wait)) as up, recalling(tmp_path, [], "anthropic", url=up.url) as (_, _, running):
        client = running.connect()
        client.send_request(body=body, headers=[("x-api-key", "k")])
        while len(up.seen) < 2:
            threading.Event().wait(0.01)
        client.leave()
        assert closed.wait(10)
        status = running.settled(2)
    assert status["totals"]["cut"] == {"client": 1}


def test_a_compressed_answer_is_read(tmp_path):
    """A provider that compresses although it was asked not to."""
    import gzip

    def zipped(peer):
        body = gzip.compress(json.dumps(ASKED).encode())
        peer.answer(body, headers=(("Content-Type", "application/json"), ("Content-Encoding", "gzip")))
        seen = peer.read_request()
        if seen is not None:
            peer.seen.append(seen)
            peer.answer(message({"type": "text", "text": "Found."}, reason="end_turn"))

    got, _, up = asked(tmp_path, zipped)
    assert up.seen[0].header("accept-encoding") == ["identity"]
    said = json.loads(got.body)
    assert [block["text"] for block in said["content"]] == ["Let me look.", "Found."]
    assert said["usage"]["output_tokens"] == 6


def test_the_model_is_told_what_the_record_says(tmp_path):
    """The whole result, word for word, and the words around a pattern."""
    replies = [with_reference((recalls(),)), with_reference((recalls(grep="line 42 "),)), with_reference((FOUND,))]
    with recalling(tmp_path, replies, "anthropic") as (talk, provider, _):
        talk.answer(talk.say("go").calls)
        talk.answer([ToolCall("c2", "Bash", {})])
    results = [
        block["content"]
        for one in provider.exchanges[-1].body["messages"]
        if isinstance(one["content"], list)
        for block in one["content"]
        if block["type"] == "tool_result"
    ]
    assert results[2] == output_of("c1")
    assert results[3] == "44: line 42 of it"
