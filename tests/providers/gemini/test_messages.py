"""The Gemini format reads every kind of part in both spellings, and changes only the part it is told to."""

import base64
import json
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redline.providers.gemini.messages import Gemini
from redline.values import payloads
from redline.values.messages import Media, Opaque, Part, Reasoning, Text, ToolCall, ToolResult
from tests.corpus import corpus_path, corpus_rows, needs_corpus
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

GEMINI = Gemini()

_WORDS_AS_FILE = "text/plain"


def _content(*parts: Any, role: str | None = "user") -> dict[str, Any]:
    return {"parts": list(parts)} if role is None else {"role": role, "parts": list(parts)}


def _only_part(part: Any) -> Part:
    (read,) = GEMINI.read(_content(part)).parts
    return read


def _answer(response: Any, **more: Any) -> dict[str, Any]:
    return {"functionResponse": {"name": "read", "response": response, **more}}


def _snake_case(value: Any) -> Any:
    """The value with the keys as the Python SDK dumps them, down to the fields of the part's own objects."""
    if not isinstance(value, dict):
        return value
    spelled = {"".join(f"_{c.lower()}" if c.isupper() else c for c in key): held for key, held in value.items()}
    return {key: held if key in ("args", "response") else _snake_case(held) for key, held in spelled.items()}


# --- reading

_EACH_KIND: list[tuple[dict[str, Any], Part]] = [
    ({"text": "hi"}, Text("hi")),
    ({"text": ""}, Text("")),
    ({"text": "hi", "thoughtSignature": "cw=="}, Text("hi")),
    ({"text": "hm", "thought": True}, Reasoning("hm")),
    ({"text": "hm", "thought": True, "thoughtSignature": "cw=="}, Reasoning("hm", is_bound=True)),
    ({"text": "hi", "thought": False}, Text("hi")),
    ({"text": "", "thoughtSignature": "cw=="}, Reasoning("", is_bound=True)),
    ({"thoughtSignature": "cw=="}, Reasoning("", is_bound=True)),
    ({"inlineData": {"mimeType": "image/png", "data": "AA=="}, "thought": True}, Reasoning("")),
    ({"functionCall": {"id": "1", "name": "ls", "args": {"a": 1}}}, ToolCall("1", "ls", {"a": 1})),
    ({"functionCall": {"name": "ls"}, "thoughtSignature": "cw=="}, ToolCall(None, "ls")),
    (
        {"functionResponse": {"id": "1", "name": "ls", "response": {"output": "ok"}}},
        ToolResult("1", (Text("ok"),), "ls"),
    ),
    (_answer({"result": "ok"}), ToolResult(None, (Text("ok"),), "read")),
    (_answer({"content": "ok"}), ToolResult(None, (Text("ok"),), "read")),
    (_answer({"ok": "read"}), ToolResult(None, (Text('{"ok":"read"}'),), "read")),
    (_answer({"output": "a", "more": 1}), ToolResult(None, (Text('{"output":"a","more":1}'),), "read")),
    (_answer({"output": ["a"]}), ToolResult(None, (Text('{"output":["a"]}'),), "read")),
    (_answer("words"), ToolResult(None, (Text("words"),), "read")),
    (_answer({}), ToolResult(None, (), "read")),
    (_answer(None), ToolResult(None, (), "read")),
    (_answer({"error": "no"}), ToolResult(None, (Text("no"),), "read", is_error=True)),
    (_answer({"error": {"code": 1}}), ToolResult(None, (Text('{"error":{"code":1}}'),), "read", is_error=True)),
    (_answer({"output": "a", "error": None}), ToolResult(None, (Text('{"output":"a","error":null}'),), "read")),
    ({"inlineData": {"mimeType": "image/png", "data": "AA=="}}, Media("image/png", "AA==")),
    ({"inlineData": {"mimeType": "image/png", "data": b"\x00"}}, Media("image/png", "AA==")),
    (
        {"fileData": {"fileUri": "gs://b/a.pdf", "mimeType": "application/pdf"}},
        Media("application/pdf", "gs://b/a.pdf", "file"),
    ),
    (
        {"fileData": {"fileUri": "https://generativelanguage.googleapis.com/v1beta/files/a"}},
        Media("application/*", "https://generativelanguage.googleapis.com/v1beta/files/a", "file"),
    ),
    (
        {"fileData": {"fileUri": "https://x/a.png", "mimeType": "image/png"}},
        Media("image/png", "https://x/a.png", "url"),
    ),
    (
        {"executableCode": {"code": "1+1", "language": "PYTHON", "id": "c"}},
        ToolCall("c", "code_execution", {"code": "1+1", "language": "PYTHON", "id": "c"}, is_hosted=True),
    ),
    (
        {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "2"}},
        ToolResult(None, (Text("2"),), "code_execution", is_hosted=True),
    ),
    (
        {"codeExecutionResult": {"outcome": "OUTCOME_FAILED"}},
        ToolResult(None, (), "code_execution", is_error=True, is_hosted=True),
    ),
    (
        {"toolCall": {"id": "1", "toolType": "URL_CONTEXT", "args": {"urls": []}}},
        ToolCall("1", "URL_CONTEXT", {"urls": []}, is_hosted=True),
    ),
    (
        {"toolResponse": {"id": "1", "toolType": "URL_CONTEXT", "response": {"a": 1}}},
        ToolResult("1", (Text('{"a":1}'),), "URL_CONTEXT", is_hosted=True),
    ),
]


@pytest.mark.parametrize(("part", "read"), _EACH_KIND)
def test_each_part_is_read(part: dict[str, Any], read: Part) -> None:
    """Every known kind of part becomes its part."""
    assert placeless(_only_part(part)) == read


@pytest.mark.parametrize(("part", "read"), _EACH_KIND)
def test_snake_case_is_read_alike(part: dict[str, Any], read: Part) -> None:
    """What the Python SDK dumps, with a null for every field that is not set, says the same."""
    absent = {"text": None, "function_call": None, "inline_data": None, "thought": None, "video_metadata": None}
    assert placeless(_only_part({**absent, **_snake_case(part)})) == read


@pytest.mark.parametrize(
    ("part", "kind"),
    [
        ({"somethingNew": {}, "thoughtSignature": "cw=="}, "somethingNew"),
        ({"text": None, "audioTranscription": {"text": "hi"}}, "audioTranscription"),
        ({"functionCall": "ls"}, "functionCall"),
        ({"inlineData": {"mimeType": "image/png"}}, "inlineData"),
        ({"text": 7}, "text"),
        ({}, "unknown"),
        ("words", "unknown"),
        (None, "unknown"),
    ],
)
def test_anything_else_is_carried(part: Any, kind: str) -> None:
    """A part that is not known, or not as it should be, is kept as it is."""
    assert placeless(_only_part(part)) == Opaque(kind, part)


@pytest.fixture(scope="module")
def sdk_types() -> Any:
    """Google's own types."""
    return pytest.importorskip("google.genai.types")


def test_every_field_the_sdk_knows_is_handled(sdk_types: Any) -> None:
    """A kind of part that Google adds shows up here."""
    kinds = {key for part, _ in _EACH_KIND for key in _snake_case(part)}
    beside = {"media_resolution", "video_metadata", "part_metadata", "media_processing", "speech_metadata"}
    carried = {"audio_transcription"}
    assert set(sdk_types.Part.model_fields) == kinds | beside | carried


def test_what_the_sdk_dumps_is_read(sdk_types: Any) -> None:
    """The SDK's own objects, with bytes and enums inside, are a payload like any other."""
    types = sdk_types
    call = types.Part(function_call=types.FunctionCall(name="ls", args={"a": 1}), thought_signature=b"s")
    picture = types.Part(inline_data=types.Blob(data=b"\x00", mime_type="image/png"))
    message = GEMINI.read(types.Content(role="model", parts=[call, picture]).model_dump())
    assert message.role == "assistant"
    assert [placeless(part) for part in message.parts] == [ToolCall(None, "ls", {"a": 1}), Media("image/png", "AA==")]


def test_media_attached_to_a_result_are_inside_it() -> None:
    """Gemini 3 takes pictures as part of a response."""
    picture = {"inlineData": {"mimeType": "image/png", "data": "AA=="}}
    result = _only_part(_answer({"output": "ok"}, parts=[picture, {"odd": 1}]))
    assert isinstance(result, ToolResult)
    inside = ("parts", 0, "functionResponse")
    assert result.parts == (
        Text("ok", (*inside, "response", "output")),
        Media("image/png", "AA==", "base64", (*inside, "parts", 0)),
        Opaque("odd", {"odd": 1}, (*inside, "parts", 1)),
    )


@pytest.mark.parametrize(
    ("native", "role"),
    [
        (_content({"text": "hi"}), "user"),
        (_content({"text": "hi"}, role=None), "user"),
        (_content({"text": "hi"}, role="model"), "assistant"),
        (_content({"text": "hi"}, role="system"), "system"),
        (_content(_answer({})), "tool"),
        (_content(_answer({}), role=None), "tool"),
        (_content(_answer({}), {"function_response": {"name": "b"}}, role="function"), "tool"),
        (_content(_answer({}), {"text": "and now?"}), "user"),
        (_content(), "user"),
        ({"role": ["user"], "parts": None}, "user"),
    ],
)
def test_roles(native: dict[str, Any], role: str) -> None:
    """A content of nothing but responses is the tool's; with anything else in it, it is the user's."""
    assert GEMINI.read(native).role == role


# --- properties

_blobs = st.fixed_dictionaries({"mimeType": st.just("image/png"), "data": any_text})
_files = st.fixed_dictionaries({"fileUri": any_text, "mimeType": maybe_text})
_calls = st.fixed_dictionaries({"name": names, "args": json_objects}, optional={"id": ids})
_responses = st.one_of(
    st.fixed_dictionaries({"output": any_text}),
    st.fixed_dictionaries({"error": any_text}),
    json_values,
)
_attached = blocks_of({"inlineData": _blobs}, {"fileData": _files})
_answers = st.fixed_dictionaries(
    {"name": names, "response": _responses}, optional={"id": ids, "parts": _attached, "willContinue": st.booleans()}
)
_camel_parts = blocks_of(
    {"text": any_text},
    {"text": any_text, "thought": st.booleans(), "thoughtSignature": maybe_text},
    {"functionCall": _calls, "thoughtSignature": maybe_text},
    {"functionResponse": _answers},
    {"functionResponse": _answers},
    {"inlineData": _blobs, "videoMetadata": json_values, "thought": maybe_text},
    {"fileData": _files},
    {"executableCode": st.fixed_dictionaries({"code": any_text, "language": any_text})},
    {"codeExecutionResult": st.fixed_dictionaries({"outcome": any_text, "output": any_text})},
    {"toolCall": st.fixed_dictionaries({"toolType": any_text, "args": json_objects})},
    {"toolResponse": st.fixed_dictionaries({"toolType": any_text, "response": _responses})},
)
_parts = st.one_of(_camel_parts, _camel_parts.map(lambda parts: [_snake_case(part) for part in parts]))
_contents = st.builds(
    lambda more, role, parts: {**more, "role": role, "parts": parts},
    unknown_keys,
    st.sampled_from(["user", "model", "function", None]),
    st.one_of(_parts, _parts, json_values),
)


@patient
@given(_contents, random_sources)
def test_reading_and_writing_give_the_payload_back(native: dict[str, Any], random: Random) -> None:
    """Whatever a content holds, it goes out as it came in."""
    assert_reads_alike(GEMINI, native, random)


def test_words_in_the_place_of_a_part_not_known_are_no_thought() -> None:
    """A part that says only that it is a thought holds none: words in its place are plain words."""
    message = GEMINI.read({"role": "model", "parts": [{"text": None, "thought": True}]})
    assert GEMINI.rewrite(message, message.parts[0], "words").parts == (Text("words", ("parts", 0)),)


@patient
@given(_contents, any_text.filter(bool), random_sources)
def test_a_rewritten_part_says_the_words(native: dict[str, Any], words: str, random: Random) -> None:
    """Each part, also inside responses, can be rewritten without touching its neighbours."""
    for payload in (native, spell_bytes(native, random)):
        message = GEMINI.read(payload)
        for part in message.walk():
            now = assert_rewrites_one(GEMINI, message, part, words)
            is_attached = isinstance(part, Media | Opaque) and len(part.at) > 2
            if is_attached:
                assert now == Media(_WORDS_AS_FILE, _in_base64(words), "base64", part.at)
            elif isinstance(part, ToolCall) and part.name == "code_execution" and part.is_hosted:
                assert now == ToolCall(None, "code_execution", {"said": words}, is_hosted=True, at=part.at)
            else:
                assert_says(part, now, words)


@patient
@given(_contents, random_sources, st.data())
def test_removal_leaves_the_rest(native: dict[str, Any], random: Random, data: st.DataObject) -> None:
    """Any of the parts can go; with the last one goes the content."""
    for payload in (native, spell_bytes(native, random)):
        message = GEMINI.read(payload)
        if message.parts:
            assert_removes(GEMINI, message, data.draw(st.sets(st.sampled_from(range(len(message.parts))))))


def _in_base64(words: str) -> str:
    return base64.b64encode(words.encode("utf-8", "replace")).decode()


# --- changing


def _rewritten(part: dict[str, Any], replacement: Any) -> Any:
    message = GEMINI.read(_content(part))
    after = GEMINI.rewrite(message, message.parts[0], replacement)
    assert isinstance(after.native, dict)
    return after.native["parts"][0]


def test_a_rewritten_response_keeps_its_other_fields() -> None:
    """Only `response` gives way, to the key the API names for outputs."""
    before = _answer({"stdout": "x", "code": 0}, id="1", willContinue=False)
    assert _rewritten(before, "gone") == _answer({"output": "gone"}, id="1", willContinue=False)


def test_a_rewritten_failure_stays_one() -> None:
    """Words in the place of an error are an error still."""
    assert _rewritten(_answer({"error": {"code": 1}}), "gone") == _answer({"error": "gone"})


def test_media_go_with_the_response_they_are_attached_to() -> None:
    """A result that is replaced is replaced whole."""
    picture = {"inlineData": {"mimeType": "image/png", "data": "AA=="}}
    assert _rewritten(_answer({"output": "a"}, id="1", parts=[picture]), "gone") == _answer({"output": "gone"}, id="1")


@pytest.mark.parametrize("key", ["functionCall", "function_call"])
def test_a_rewritten_call_has_new_arguments(key: str) -> None:
    """In either spelling, and its signature stays with it."""
    before = {key: {"name": "ls", "args": {"a": 1}, "id": "1"}, "thoughtSignature": "cw=="}
    after = {key: {"name": "ls", "args": {"b": 2}, "id": "1"}, "thoughtSignature": "cw=="}
    assert _rewritten(before, {"b": 2}) == after


def test_a_signature_survives_its_picture() -> None:
    """The API asks for the signatures of generated pictures too."""
    picture = {"inlineData": {"mimeType": "image/png", "data": "AA=="}, "videoMetadata": {"fps": 1}}
    before = {**picture, "thought_signature": "cw=="}
    assert _rewritten(before, "gone") == {"text": "gone", "thought_signature": "cw=="}


def test_bytes_around_a_response_are_verbatim() -> None:
    """Duplicate keys, number spelling and spacing outside the response stay."""
    raw = b'{"role":"user", "n":1E2,"n": 2, "parts":[ {"function_response":{"name":"a","response":{"output":"x"} } } ]}'
    message = GEMINI.read(raw)
    assert GEMINI.rewrite(message, message.parts[0], "y").native == raw.replace(b'"x"', b'"y"')


# --- recognising


@pytest.mark.parametrize(
    ("native", "evidence"),
    [
        (_content({"text": "hi"}), 2),
        (_content({"function_call": {"name": "ls"}}, role="model"), 2),
        (_content({"text": "hi"}, role=None), 2),
        (_content({"text": "hi"}, None, "odd"), 2),
        (_content({"type": "text", "text": "hi"}), 0),
        (_content({"text": "hi"}, role="assistant"), 0),
        ({"role": ["user"], "parts": []}, 0),
        ({"role": "user", "parts": [], "content": "hi"}, 0),
        ({"role": "user", "parts": "hi"}, 0),
        ({"role": "user", "content": "hi"}, 0),
    ],
)
def test_its_own_are_recognised(native: dict[str, Any], evidence: int) -> None:
    """A list of parts is certain, unless the parts say their type as those of UI messages do."""
    assert GEMINI.evidence(native) == evidence


# --- composing


def test_composed_results_are_one_turn() -> None:
    """All results together, before the user's words, each under the name of its tool."""
    results = [ToolResult("1", (Text("ok"),), "ls"), ToolResult(None, (Text("no"),), "cat", is_error=True)]
    composed = GEMINI.compose("tool", [Text("and now?"), *results])
    assert composed.payloads == (
        _content(
            {"functionResponse": {"id": "1", "name": "ls", "response": {"output": "ok"}}},
            {"functionResponse": {"name": "cat", "response": {"error": "no"}}},
            {"text": "and now?"},
        ),
    )
    assert composed.lost == ()


def test_a_result_without_a_name_is_reported() -> None:
    """The API requires the name, so its absence is told."""
    composed = GEMINI.compose("tool", [ToolResult("1", (Text("ok"),))])
    assert composed.payloads == (_content({"functionResponse": {"id": "1", "name": "", "response": {"output": "ok"}}}),)
    assert composed.lost == ("the name of the tool that answered call '1': gemini wants it, the result lacks it",)


def test_composed_calls_are_the_models() -> None:
    """Words and calls in their order; the input is an object."""
    composed = GEMINI.compose("assistant", [Text("look"), ToolCall("1", "ls", '{"a":1}'), ToolCall(None, "ls"), Text("")])
    calls = [
        {"functionCall": {"id": "1", "name": "ls", "args": {"a": 1}}},
        {"functionCall": {"name": "ls", "args": {}}},
    ]
    assert composed.payloads == (_content({"text": "look"}, *calls, role="model"),)


def test_a_composed_system_message_is_read_back_as_one() -> None:
    """It speaks in words only; in a request it is beside the contents, without a role (R5)."""
    composed = GEMINI.compose("system", [Text("be brief"), Media("image/png", "AA==")])
    assert composed.payloads == (_content({"text": "be brief"}, role="system"),)
    assert GEMINI.read(composed.payloads[0]).role == "system"
    assert len(composed.lost) == 1
    asked = _content({"text": "hi"})
    assert GEMINI.split_system([*composed.payloads, asked]) == ({"parts": [{"text": "be brief"}]}, [asked])


@pytest.mark.parametrize(
    ("media", "part"),
    [
        (Media("image/png", "AA=="), {"inlineData": {"mimeType": "image/png", "data": "AA=="}}),
        (Media("text/plain", "hi", "text"), {"inlineData": {"mimeType": "text/plain", "data": "aGk="}}),
        (Media("image/*", "https://x/a", "url"), {"fileData": {"fileUri": "https://x/a"}}),
        (Media("video/mp4", "gs://b/a", "file"), {"fileData": {"mimeType": "video/mp4", "fileUri": "gs://b/a"}}),
    ],
)
def test_media_are_composed(media: Media, part: dict[str, Any]) -> None:
    """Alone and attached to a result alike."""
    assert GEMINI.compose("user", [media]).payloads == (_content(part),)
    answer = _answer({"output": ""}, parts=[part])
    assert GEMINI.compose("tool", [ToolResult(None, (media,), "read")]).payloads == (_content(answer),)


@pytest.mark.parametrize(
    "part",
    [
        Reasoning("hm"),
        Opaque("odd"),
        ToolCall("1", "search", is_hosted=True),
        ToolResult("1", is_hosted=True),
        Media("image/png", "file-123", "file"),
        Media("image/*", "AA=="),
    ],
)
def test_what_cannot_be_said_is_listed(part: Part) -> None:
    """Nothing is lost silently."""
    composed = GEMINI.compose("assistant", [part])
    assert composed.payloads == ()
    assert len(composed.lost) == 1


@patient
@given(composed_turns)
def test_composed_contents_are_what_the_sdk_sends(sdk_types: Any, turn: tuple[Any, list[Part]]) -> None:
    """Google's own types accept every composed content, and it reads back as what was composed."""
    role, parts = turn
    for payload in GEMINI.compose(role, parts).payloads:
        sdk_types.Content.model_validate_json(json.dumps(payload))
        message = GEMINI.read(payload)
        assert message.text == "\n".join(part.text for part in parts if isinstance(part, Text) and part.text)
        if role != "system":
            expected = [(part.call_id, part.text, part.is_error) for part in parts if isinstance(part, ToolResult)]
            assert [(part.call_id, part.text, part.is_error) for part in message.results] == expected


# --- whole requests


@pytest.mark.parametrize("contents", ["hi", _content({"text": "hi"}), [_content({"text": "hi"})]])
def test_contents_may_be_one_or_words(contents: Any) -> None:
    """The SDKs take a list, a single content, or plain words."""
    (message,) = GEMINI.read_request({"contents": contents})
    assert (message.role, message.text) == ("user", "hi")


def test_an_unchanged_request_is_the_same_object() -> None:
    """Also where its one content is not in a list."""
    body = {"contents": _content({"text": "hi"}), "systemInstruction": {"parts": []}}
    assert GEMINI.write_request(body, GEMINI.read_request(body)) is body


# --- real responses


@needs_corpus
@pytest.mark.parametrize("row", corpus_rows("gemini-cli"), ids=lambda row: row["path"])
def test_recorded_calls_and_responses_are_read(row: dict[str, Any]) -> None:
    """Gemini CLI's calls and responses pair by id, and each response says its words."""
    session = json.loads(corpus_path(row).read_text(encoding="utf-8"))
    recorded = [call for message in session["messages"] for call in message.get("toolCalls", ())]
    assert recorded
    for call in recorded:
        named = {key: call[key] for key in ("id", "name", "args")}
        asked, answered = (
            GEMINI.read(_content({"functionCall": named}, role="model")),
            GEMINI.read(_content(*call["result"])),
        )
        assert [GEMINI.evidence(payloads.decode(message.native)) for message in (asked, answered)] == [2, 2]
        (result,) = answered.results
        assert answered.role == "tool"
        assert (result.call_id, result.name) == (asked.calls[0].id, asked.calls[0].name)
        assert result.text == call["result"][0]["functionResponse"]["response"]["output"]
        assert result.is_error == (call["status"] != "success")
