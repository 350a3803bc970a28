"""The AI SDK format reads messages of every version and Neovate's lines, and changes only the part it is told to."""

from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redline.providers.ai_sdk.messages import AiSdk
from redline.values.messages import Media, Opaque, Part, Reasoning, Text, ToolCall, ToolResult
from tests.providers.anthropic.test_messages import (
    assert_reads_alike,
    assert_removes,
    assert_rewrites_one,
    assert_says,
    blocks_of,
    composed_turns,
    ids,
    maybe_text,
    names,
    placeless,
)
from tests.values.test_payloads import any_text, json_objects, json_values, patient, random_sources, spell_bytes, unknown_keys

AI_SDK = AiSdk()


def _message(*content: Any, role: str = "user") -> dict[str, Any]:
    return {"role": role, "content": list(content)}


def _result(**more: Any) -> dict[str, Any]:
    return {"type": "tool-result", "toolCallId": "1", "toolName": "read", **more}


def _output(kind: str, value: Any = None, **more: Any) -> dict[str, Any]:
    return _result(output={"type": kind, "value": value, **more})


def _legacy_result(result: Any) -> dict[str, Any]:
    return {"type": "tool_result", "id": "1", "name": "read", "input": {}, "result": result}


def _read_result(*parts: Part, is_error: bool = False) -> ToolResult:
    return ToolResult("1", parts, "read", is_error)  # type: ignore[arg-type]


# --- reading


@pytest.mark.parametrize(
    ("block", "part"),
    [
        ({"type": "text", "text": "hi"}, Text("hi")),
        ({"type": "reasoning", "text": "hm"}, Reasoning("hm")),
        ({"type": "reasoning", "text": "hm", "providerOptions": {"openai": {"itemId": "rs_1"}}}, Reasoning("hm")),
        ({"type": "reasoning", "text": "", "providerOptions": {"anthropic": {"signature": "s"}}}, Reasoning("", True)),
        (
            {"type": "reasoning", "text": "", "providerMetadata": {"openai": {"reasoningEncryptedContent": "s"}}},
            Reasoning("", True),
        ),
        ({"type": "reasoning", "text": "hm", "signature": "s"}, Reasoning("hm", True)),
        ({"type": "redacted-reasoning", "data": "x"}, Reasoning("", True)),
        (
            {"type": "reasoning-file", "data": "AA==", "providerOptions": {"google": {"thoughtSignature": "s"}}},
            Reasoning("", True),
        ),
        (
            {"type": "tool-call", "toolCallId": "1", "toolName": "ls", "input": {"a": 1}},
            ToolCall("1", "ls", {"a": 1}),
        ),
        ({"type": "tool-call", "toolCallId": "1", "toolName": "ls", "args": {"a": 1}}, ToolCall("1", "ls", {"a": 1})),
        (
            {"type": "tool-call", "toolCallId": "1", "toolName": "ls", "input": {}, "providerExecuted": True},
            ToolCall("1", "ls", {}, is_hosted=True),
        ),
        ({"type": "tool_use", "id": "1", "name": "ls", "input": {"a": 1}}, ToolCall("1", "ls", {"a": 1})),
        ({"type": "tool-call", "toolCallId": 7, "toolName": None}, ToolCall(None, "")),
        ({"type": "tool-approval-request", "approvalId": "a"}, Opaque("tool-approval-request")),
        ({"type": "tool_result", "tool_use_id": "1", "content": "x"}, Opaque("tool_result")),
        ({"type": "text", "text": None}, Opaque("text")),
        ({"type": ["text"]}, Opaque("unknown")),
        ("words", Opaque("unknown")),
    ],
)
def test_each_block_is_its_part(block: Any, part: Part) -> None:
    """Every known block becomes its part, and everything else is carried as it is."""
    (read,) = AI_SDK.read(_message(block)).parts
    expected = Opaque(part.kind, block) if isinstance(part, Opaque) else part
    assert placeless(read) == expected


@pytest.mark.parametrize(
    ("block", "result"),
    [
        (_output("text", "ok"), _read_result(Text("ok"))),
        (_output("json", {"a": 1}), _read_result(Text('{"a":1}'))),
        (_output("json", "ok"), _read_result(Text("ok"))),
        (_output("json", [{"type": "text", "text": "x"}]), _read_result(Text('[{"type":"text","text":"x"}]'))),
        (_output("json", {"isError": True}), _read_result(Text('{"isError":true}'), is_error=True)),
        (_output("error-text", "no"), _read_result(Text("no"), is_error=True)),
        (_output("error-json", {"a": 1}), _read_result(Text('{"a":1}'), is_error=True)),
        (_output("execution-denied", reason="not now"), _read_result(Text("not now"), is_error=True)),
        (_output("execution-denied"), _read_result(is_error=True)),
        (_output("content", [{"type": "text", "text": "a"}]), _read_result(Text("a"))),
        (_output("content", [{"type": "custom"}]), _read_result(Opaque("custom", {"type": "custom"}))),
        (_output("content", [{"type": "reasoning", "text": "a"}]), _read_result(Opaque("reasoning", None))),
        (_result(output="ok"), _read_result(Text("ok"))),
        (_result(output={"a": 1}), _read_result(Text('{"a":1}'))),
        (_result(result="ok"), _read_result(Text("ok"))),
        (_result(result={"a": 1}), _read_result(Text('{"a":1}'))),
        (_result(result=[{"type": "text", "text": "x"}]), _read_result(Text('[{"type":"text","text":"x"}]'))),
        (_result(result="no", isError=True), _read_result(Text("no"), is_error=True)),
        (_result(result="x", experimental_content=[{"type": "text", "text": "a"}]), _read_result(Text("a"))),
        (_result(), _read_result()),
        (_result(result={"llmContent": "ok", "returnDisplay": "1 line"}), _read_result(Text("ok"))),
        (_result(result={"llmContent": [{"type": "text", "text": "a"}]}), _read_result(Text("a"))),
        (_result(result={"llmContent": "no", "isError": True}), _read_result(Text("no"), is_error=True)),
        (_legacy_result({"llmContent": "ok"}), _read_result(Text("ok"))),
        (_legacy_result("ok"), _read_result(Text("ok"))),
    ],
)
def test_each_shape_of_result_is_read(block: dict[str, Any], result: ToolResult) -> None:
    """Outputs since version 5, results before it, and Neovate's results of both generations."""
    (read,) = AI_SDK.read(_message(block, role="tool")).parts
    assert isinstance(read, ToolResult)
    blank = [Opaque(part.kind) if isinstance(part, Opaque) else placeless(part) for part in read.parts]
    assert blank == [Opaque(part.kind) if isinstance(part, Opaque) else part for part in result.parts]
    assert (read.call_id, read.name, read.is_error, read.is_hosted) == ("1", "read", result.is_error, False)


@pytest.mark.parametrize(
    ("block", "media"),
    [
        ({"type": "file", "data": "AA==", "mediaType": "application/pdf"}, Media("application/pdf", "AA==")),
        ({"type": "file", "data": "AA==", "mimeType": "application/pdf"}, Media("application/pdf", "AA==")),
        ({"type": "image", "image": "AA=="}, Media("image/*", "AA==")),
        ({"type": "image", "image": "https://x/a"}, Media("image/*", "https://x/a", "url")),
        ({"type": "image", "image": "data:image/png;base64,AA=="}, Media("image/png", "AA==")),
        ({"type": "image", "data": "AA==", "mimeType": "image/png"}, Media("image/png", "AA==")),
        ({"type": "media", "data": "AA==", "mediaType": "image/png"}, Media("image/png", "AA==")),
        ({"type": "image-data", "data": "AA==", "mediaType": "image/png"}, Media("image/png", "AA==")),
        ({"type": "file-data", "data": "AA==", "mediaType": "audio/wav"}, Media("audio/wav", "AA==")),
        ({"type": "image-url", "url": "https://x/a"}, Media("image/*", "https://x/a", "url")),
        ({"type": "file-id", "fileId": "f"}, Media("application/*", "f", "file")),
        (
            {"type": "file", "data": {"type": "data", "data": "AA=="}, "mediaType": "image/png"},
            Media("image/png", "AA=="),
        ),
        (
            {"type": "file", "data": {"type": "url", "url": "https://x"}, "mediaType": "image/png"},
            Media("image/png", "https://x", "url"),
        ),
        (
            {"type": "file", "data": {"type": "text", "text": "hi"}, "mediaType": "text/plain"},
            Media("text/plain", "hi", "text"),
        ),
    ],
)
def test_media_are_read(block: dict[str, Any], media: Media) -> None:
    """In messages and inside results alike, whatever the version calls it."""
    assert [placeless(part) for part in AI_SDK.read(_message(block)).parts] == [media]
    (result,) = AI_SDK.read(_message(_output("content", [block]), role="tool")).results
    assert [placeless(part) for part in result.parts] == [media]


@pytest.mark.parametrize(
    "data", [None, {"type": "Buffer", "data": [0]}, {"0": 1}, {"type": "reference", "reference": {"openai": "f"}}]
)
def test_media_in_another_form_are_carried(data: Any) -> None:
    """Bytes as JavaScript dumps them, and references, are kept as they are."""
    block = {"type": "file", "data": data, "mediaType": "image/png"}
    assert [placeless(part) for part in AI_SDK.read(_message(block)).parts] == [Opaque("file", block)]


@pytest.mark.parametrize(
    ("native", "role"),
    [
        ({"role": "system", "content": "be brief"}, "system"),
        ({"role": "user", "content": "hi"}, "user"),
        (_message({"type": "text", "text": "hi"}, role="assistant"), "assistant"),
        (_message(_result(), role="tool"), "tool"),
        (_message(_result(), {"type": "tool-approval-response"}, role="tool"), "tool"),
        (_message(_legacy_result("x"), _legacy_result("y")), "tool"),
        (_message(_legacy_result("x"), {"type": "text", "text": "hi"}), "user"),
        (_message({"type": "tool_result", "tool_use_id": "1"}), "user"),
        (_message(), "user"),
        ({"role": ["user"], "content": None}, "user"),
    ],
)
def test_roles(native: dict[str, Any], role: str) -> None:
    """As given, but for a user message of older files that holds nothing but results."""
    assert AI_SDK.read(native).role == role


def test_a_result_beside_its_call_is_the_providers() -> None:
    """A result in an assistant message comes from a tool that the provider ran."""
    call = {"type": "tool-call", "toolCallId": "1", "toolName": "search", "input": {}, "providerExecuted": True}
    message = AI_SDK.read(_message(call, _output("text", "found"), role="assistant"))
    assert (message.calls, message.results) == ((), ())


def test_stored_fields_are_kept() -> None:
    """What a session file adds to a message goes through every change, and a time in words is no number."""
    stored = {"type": "message", "uuid": "2", "parentUuid": "1", "timestamp": "2026-02-04T00:00:01Z"}
    message = AI_SDK.read({**stored, **_message(_result(result={"llmContent": "a"}), role="tool")})
    after = AI_SDK.rewrite(message, message.parts[0], "gone")
    assert after.native == {**stored, **_message(_result(result={"llmContent": "gone"}), role="tool")}
    assert after.timestamp_ms is None


# --- properties

_inner_blocks = blocks_of(
    {"type": st.just("text"), "text": any_text},
    {"type": st.sampled_from(["image", "media", "file-data"]), "data": any_text, "mediaType": any_text},
    {"type": st.just("custom"), "value": json_values},
)
_outputs = st.one_of(
    st.fixed_dictionaries({"type": st.sampled_from(["text", "error-text"]), "value": any_text}),
    st.fixed_dictionaries({"type": st.sampled_from(["json", "error-json"]), "value": json_values}),
    st.fixed_dictionaries({"type": st.just("content"), "value": _inner_blocks}),
    st.fixed_dictionaries({"type": st.just("execution-denied"), "reason": maybe_text}),
    json_values,
)
_neovate_results = st.one_of(
    st.fixed_dictionaries({"llmContent": st.one_of(any_text, _inner_blocks, json_values)}, optional={"isError": st.booleans()}),
    json_values,
)
_blocks = blocks_of(
    {"type": st.just("text"), "text": any_text},
    {"type": st.just("reasoning"), "text": any_text, "providerOptions": json_values},
    {"type": st.just("redacted-reasoning"), "data": any_text},
    {"type": st.just("tool-call"), "toolCallId": ids, "toolName": names, "input": json_objects},
    {"type": st.just("tool-call"), "toolCallId": ids, "toolName": names, "args": json_objects},
    {"type": st.just("tool-result"), "toolCallId": ids, "toolName": names, "output": _outputs},
    {"type": st.just("tool-result"), "toolCallId": ids, "toolName": names, "result": _neovate_results},
    {"type": st.just("tool-result"), "toolCallId": ids, "result": any_text, "experimental_content": _inner_blocks},
    {"type": st.just("tool_use"), "id": ids, "name": names, "input": json_objects},
    {"type": st.just("tool_result"), "id": ids, "name": names, "result": _neovate_results},
    {"type": st.sampled_from(["file", "image"]), "data": any_text, "mediaType": maybe_text},
    {"type": st.just("tool-approval-response"), "approvalId": ids},
)
_messages = st.builds(
    lambda more, role, content: {**more, "role": role, "content": content},
    unknown_keys,
    st.sampled_from(["user", "assistant", "tool", "system", None]),
    st.one_of(any_text, _blocks, _blocks, st.none()),
)


@patient
@given(_messages, random_sources)
def test_reading_and_writing_give_the_payload_back(native: dict[str, Any], random: Random) -> None:
    """Whatever a message holds, it goes out as it came in."""
    assert_reads_alike(AI_SDK, native, random)


@patient
@given(_messages, any_text, random_sources)
def test_a_rewritten_part_says_the_words(native: dict[str, Any], words: str, random: Random) -> None:
    """Each part, also inside results, can be rewritten without touching its neighbours."""
    for payload in (native, spell_bytes(native, random)):
        message = AI_SDK.read(payload)
        for part in message.walk():
            assert_says(part, assert_rewrites_one(AI_SDK, message, part, words), words)


@patient
@given(_messages, random_sources, st.data())
def test_removal_leaves_the_rest(native: dict[str, Any], random: Random, data: st.DataObject) -> None:
    """Any of the parts can go; with the last one goes the message."""
    for payload in (native, spell_bytes(native, random)):
        message = AI_SDK.read(payload)
        if message.parts:
            assert_removes(AI_SDK, message, data.draw(st.sets(st.sampled_from(range(len(message.parts))))))


# --- changing


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (_output("json", {"a": 1}), _output("text", "gone")),
        (_output("content", [{"type": "text", "text": "a"}]), _output("text", "gone")),
        (_output("text", "a", providerOptions={"x": 1}), _output("text", "gone", providerOptions={"x": 1})),
        (_output("error-json", {"a": 1}), _output("error-text", "gone")),
        (_result(output={"type": "execution-denied", "reason": "no"}), _output("error-text", "gone")),
        (_result(result={"a": 1}, isError=False), _result(result="gone", isError=False)),
        (_result(result={"a": 1}, experimental_content=[{"type": "text"}]), _result(result="gone")),
        (
            _result(input={}, result={"llmContent": ["a"], "returnDisplay": "b", "isError": True}),
            _result(input={}, result={"llmContent": "gone", "returnDisplay": "b", "isError": True}),
        ),
        (_legacy_result({"llmContent": "a", "x": 1}), _legacy_result({"llmContent": "gone", "x": 1})),
        (_legacy_result(["a"]), _legacy_result("gone")),
    ],
)
def test_a_rewritten_result_keeps_its_shape(before: dict[str, Any], after: dict[str, Any]) -> None:
    """Each version's result says the words in its own way; a failure stays one, and other fields stay."""
    message = AI_SDK.read(_message(before, role="tool"))
    assert AI_SDK.rewrite(message, message.parts[0], "gone").native == _message(after, role="tool")


def test_words_inside_a_result_can_be_rewritten() -> None:
    """One block of a content gives way, its neighbours stay."""
    picture = {"type": "media", "data": "AA==", "mediaType": "image/png"}
    message = AI_SDK.read(_message(_output("content", [{"type": "text", "text": "a", "x": 1}, picture]), role="tool"))
    words, image = message.results[0].parts
    after = AI_SDK.rewrite(AI_SDK.rewrite(message, words, "b"), image, "[picture]")
    inside = [{"type": "text", "text": "b", "x": 1}, {"type": "text", "text": "[picture]"}]
    assert after.native == _message(_output("content", inside), role="tool")


def test_a_rewritten_call_has_new_input_under_the_same_key() -> None:
    """Version 4 said `args`, and its messages go on saying so."""
    for key in ("input", "args"):
        call = {"type": "tool-call", "toolCallId": "1", "toolName": "ls", key: {"a": 1}}
        message = AI_SDK.read(_message(call, role="assistant"))
        after = AI_SDK.rewrite(message, message.parts[0], {"b": 2})
        assert after.native == _message({**call, key: {"b": 2}}, role="assistant")


def test_provider_options_survive_a_picture() -> None:
    """Words in the place of a picture mark the same end of the cached prefix."""
    options = {"anthropic": {"cacheControl": {"type": "ephemeral"}}}
    message = AI_SDK.read(_message({"type": "image", "image": "AA==", "providerOptions": options}))
    after = AI_SDK.rewrite(message, message.parts[0], "gone")
    assert after.native == _message({"type": "text", "text": "gone", "providerOptions": options})


def test_bytes_around_a_result_are_verbatim() -> None:
    """Duplicate keys, number spelling and spacing outside the words stay."""
    raw = b'{"role":"tool", "n":1E2,"n": 2,"content":[ {"type":"tool-result","result":{"llmContent" : "x","t":1.0} } ]}'
    message = AI_SDK.read(raw)
    assert AI_SDK.rewrite(message, message.parts[0], "y").native == raw.replace(b'"x"', b'"y"')


# --- recognising


@pytest.mark.parametrize(
    ("native", "evidence"),
    [
        ({"role": "user", "content": "hi"}, 1),
        ({"role": "system", "content": "hi"}, 1),
        (_message({"type": "text", "text": "hi"}), 1),
        (_message({"type": "tool-call", "toolCallId": "1"}, role="assistant"), 2),
        (_message(_result(), role="tool"), 2),
        (_message({"type": "tool-approval-request", "toolCallId": "1"}, role="assistant"), 2),
        (_message({"type": "tool_use", "id": "1", "name": "ls", "input": {}}, role="assistant"), 1),
        (_message(_legacy_result("x")), 2),
        (_message({"type": "tool_result", "tool_use_id": "1"}), 0),
        (_message({"type": "tool_result", "tool_use_id": "1", "id": "1"}), 0),
        (_message({"type": "thinking", "thinking": "hm"}, role="assistant"), 0),
        (_message({"type": "image", "source": {}}), 0),
        (_message({"type": "image_url", "image_url": {}}), 0),
        (_message("odd", None, {"type": ["x"]}), 1),
        ({"role": "assistant", "content": None, "tool_calls": []}, 0),
        ({"role": "assistant", "content": "hi", "tool_calls": []}, 0),
        ({"role": "tool", "content": "x", "tool_call_id": "1"}, 0),
        ({"role": "tool", "content": "x"}, 0),
        ({"id": "1", "role": "user", "parts": [{"type": "text", "text": "hi"}]}, 0),
        ({"role": "model", "content": "hi"}, 0),
        ({"role": ["user"], "content": "hi"}, 0),
    ],
)
def test_its_own_are_recognised(native: dict[str, Any], evidence: int) -> None:
    """Its tool parts are certain, another format's keys, blocks and roles impossible; UI messages are not of it."""
    assert AI_SDK.evidence(native) == evidence


# --- composing


def test_composed_results_are_one_tool_message() -> None:
    """All results together, and what the user says after them."""
    results = [ToolResult("1", (Text("ok"),), "ls"), ToolResult("2", (Text("no"),), "cat", is_error=True)]
    composed = AI_SDK.compose("user", [Text("and now?"), *results])
    assert composed.payloads == (
        _message(
            {"type": "tool-result", "toolCallId": "1", "toolName": "ls", "output": {"type": "text", "value": "ok"}},
            {
                "type": "tool-result",
                "toolCallId": "2",
                "toolName": "cat",
                "output": {"type": "error-text", "value": "no"},
            },
            role="tool",
        ),
        _message({"type": "text", "text": "and now?"}),
    )
    assert composed.lost == ()


def test_composed_media_stand_in_a_content() -> None:
    """Beside media there is no place for the failure but in words."""
    media = (
        Media("image/png", "AA=="),
        Media("image/*", "https://x", "url"),
        Media("text/plain", "hi", "text"),
        Media("application/pdf", "f", "file"),
    )
    (message,) = AI_SDK.compose("tool", [ToolResult("1", (Text("no"), *media), "ls", is_error=True)]).payloads
    assert message["content"][0]["output"] == {
        "type": "content",
        "value": [
            {"type": "text", "text": "Error: no"},
            {"type": "media", "data": "AA==", "mediaType": "image/png"},
            {"type": "image-url", "url": "https://x"},
            {"type": "text", "text": "hi"},
            {"type": "file-id", "fileId": "f"},
        ],
    }


def test_a_result_without_a_name_is_reported() -> None:
    """The SDK requires the name, so its absence is told."""
    composed = AI_SDK.compose("tool", [ToolResult("1", (Text("ok"),))])
    assert composed.payloads[0]["content"][0]["toolName"] == ""
    assert composed.lost == ("the name of the tool that answered call '1': ai_sdk wants it, the result lacks it",)


def test_composed_calls_are_of_version_5() -> None:
    """Words, thoughts and calls in their order; the input is an object."""
    composed = AI_SDK.compose("assistant", [Reasoning("hm"), Text("look"), ToolCall("1", "ls", '{"a":1}'), Text("")])
    call = {"type": "tool-call", "toolCallId": "1", "toolName": "ls", "input": {"a": 1}}
    said = ({"type": "reasoning", "text": "hm"}, {"type": "text", "text": "look"}, call)
    assert composed.payloads == (_message(*said, role="assistant"),)


def test_the_system_speaks_in_one_string() -> None:
    """A system message has no parts, and no place for a picture."""
    composed = AI_SDK.compose("system", [Text("be brief"), Text("and kind"), Media("image/png", "AA==")])
    assert composed.payloads == ({"role": "system", "content": "be brief\nand kind"},)
    assert len(composed.lost) == 1


@pytest.mark.parametrize(
    "part",
    [
        Reasoning("hm", is_bound=True),
        Opaque("odd"),
        ToolCall("1", "search", is_hosted=True),
        ToolResult("1", is_hosted=True),
        Media("image/png", "file-123", "file"),
    ],
)
def test_what_cannot_be_said_is_listed(part: Part) -> None:
    """Nothing is lost silently."""
    composed = AI_SDK.compose("assistant", [part])
    assert composed.payloads == ()
    assert len(composed.lost) == 1


@patient
@given(composed_turns)
def test_composed_messages_read_back(turn: tuple[Any, list[Part]]) -> None:
    """Every composed message could be of this format, and says the words, calls and results it was made from."""
    role, parts = turn
    messages = [AI_SDK.read(payload) for payload in AI_SDK.compose(role, parts).payloads]
    assert all(AI_SDK.evidence(payload) for payload in AI_SDK.compose(role, parts).payloads)
    said = "\n".join(part.text for part in parts if isinstance(part, Text) and (part.text or role == "system"))
    assert "\n".join(message.text for message in messages if message.role != "tool") == said
    if role != "system":
        results = [part.call_id for part in parts if isinstance(part, ToolResult)]
        assert [result.call_id for message in messages for result in message.results] == results
        calls = [part.arguments for part in parts if isinstance(part, ToolCall)]
        assert [call.arguments for message in messages for call in message.calls] == calls
