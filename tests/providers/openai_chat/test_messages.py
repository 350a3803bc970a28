"""The OpenAI Chat format reads, writes, changes and recognises its messages."""

import copy
import functools
import json
from collections.abc import Iterator
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redline import check, make_legal
from redline.errors import FormatError, ValidationError
from redline.providers import detect_format
from redline.providers.openai_chat.messages import OpenAIChat
from redline.values.messages import Media, Message, Opaque, Part, Reasoning, Text, ToolCall, ToolResult
from redline.values.payloads import decode
from tests.corpus import corpus_path, corpus_rows, needs_corpus

CHAT = OpenAIChat()
PNG = Media("image/png", "AAAA")


def called(call_id: str, name: str = "read", arguments: str = '{"path": "a.py"}') -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


# --- reading


@pytest.mark.parametrize(
    ("wire", "role"),
    [
        ("system", "system"),
        ("developer", "system"),
        ("user", "user"),
        ("assistant", "assistant"),
        ("tool", "tool"),
        ("function", "tool"),
        ("narrator", "user"),
        (None, "user"),
        (["user"], "user"),
    ],
)
def test_roles(wire: object, role: str) -> None:
    """Each role of the wire is one of the four neutral ones; an unknown one is the user's."""
    assert CHAT.read({"role": wire, "content": "x"}).role == role


def test_content_is_a_string_a_list_or_nothing() -> None:
    """A string is one text, a list its parts, null nothing."""
    assert CHAT.read({"role": "user", "content": "hi"}).parts == (Text("hi", ("content",)),)
    assert CHAT.read({"role": "user", "content": [{"type": "text", "text": "hi"}]}).parts == (Text("hi", ("content", 0)),)
    assert CHAT.read({"role": "assistant", "content": None}).parts == ()
    assert CHAT.read({"role": "assistant", "content": {"a": 1}}).parts == (Opaque("unknown", {"a": 1}, ("content",)),)


def test_calls_stand_beside_the_content() -> None:
    """A function call keeps its JSON text, a custom one its free text; both come after the words."""
    custom = {"id": "b", "type": "custom", "custom": {"name": "patch", "input": "*** Begin"}}
    message = CHAT.read({"role": "assistant", "content": "look", "tool_calls": [called("a"), custom]})
    assert message.parts == (
        Text("look", ("content",)),
        ToolCall("a", "read", '{"path": "a.py"}', at=("tool_calls", 0)),
        ToolCall("b", "patch", "*** Begin", at=("tool_calls", 1)),
    )
    assert message.calls[0].arguments == {"path": "a.py"}


def test_null_tool_calls_is_no_call() -> None:
    """Servers write `tool_calls: null` where there is none."""
    assert CHAT.read({"role": "assistant", "content": "yo", "tool_calls": None}).calls == ()


def test_a_malformed_call_is_carried() -> None:
    """A call without a function is not guessed at."""
    message = CHAT.read({"role": "assistant", "tool_calls": [{"id": "a", "name": "read"}, 7]})
    assert [part.at for part in message.parts if isinstance(part, Opaque)] == [("tool_calls", 0), ("tool_calls", 1)]


def test_a_tool_message_is_one_result() -> None:
    """The call's id, the tool's name where it is given, and the text."""
    message = CHAT.read({"role": "tool", "tool_call_id": "a", "name": "read", "content": "data"})
    assert message.parts == (ToolResult("a", (Text("data", ("content",)),), "read", at=("content",)),)


def test_a_result_may_be_a_list_of_parts() -> None:
    """Each part is in the result with its own place."""
    content = [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]
    [result] = CHAT.read({"role": "tool", "tool_call_id": "a", "content": content}).results
    assert result.parts == (Text("one", ("content", 0)), Text("two", ("content", 1)))


def test_legacy_functions_have_names_and_no_ids() -> None:
    """`function_call` and the role `function` match by name."""
    call = CHAT.read({"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}})
    result = CHAT.read({"role": "function", "name": "f", "content": "1"})
    assert call.parts == (ToolCall(None, "f", "{}", at=("function_call",)),)
    assert result.parts == (ToolResult(None, (Text("1", ("content",)),), "f", at=("content",)),)


@pytest.mark.parametrize(
    ("beside", "is_error"),
    [
        ({"content": "Error: no such file"}, True),
        ({"content": " \n Error: no such file"}, True),
        ({"content": [{"type": "text", "text": "Error: no"}]}, True),
        ({"content": "fine", "messageStatus": "error"}, True),
        ({"content": "fine", "messageStatus": "success"}, False),
        ({"content": "No Error: here"}, False),
        ({"content": None}, False),
    ],
)
def test_a_failure_is_told_by_status_or_first_word(beside: dict[str, Any], is_error: bool) -> None:
    """The wire has no field for failure."""
    assert CHAT.read({"role": "tool", "tool_call_id": "a", **beside}).results[0].is_error is is_error


@pytest.mark.parametrize("key", ["reasoning_content", "reasoning"])
def test_reasoning_of_other_servers(key: str) -> None:
    """Servers that show the model's thoughts put them beside the content; nothing binds them."""
    message = CHAT.read({"role": "assistant", "content": "so", key: "hm"})
    assert message.parts == (Reasoning("hm", at=(key,)), Text("so", ("content",)))
    assert CHAT.read({"role": "assistant", "content": "so", key: None}).parts == (Text("so", ("content",)),)


def test_a_refusal_is_what_the_assistant_said() -> None:
    """As a key of the message and as a content part."""
    assert CHAT.read({"role": "assistant", "content": None, "refusal": "no"}).text == "no"
    assert CHAT.read({"role": "assistant", "content": [{"type": "refusal", "refusal": "no"}]}).text == "no"


@pytest.mark.parametrize(
    ("block", "media"),
    [
        ({"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}, ("image/png", "AAAA", "base64")),
        ({"type": "image_url", "image_url": {"url": "https://e.x/a.png"}}, ("image/*", "https://e.x/a.png", "url")),
        ({"type": "image_url", "image_url": "https://e.x/a.png"}, ("image/*", "https://e.x/a.png", "url")),
        (
            {"type": "image_url", "image_url": {"url": "data:image/svg+xml;charset=utf-8;base64,AA"}},
            ("image/svg+xml", "AA", "base64"),
        ),
        ({"type": "image_url", "image_url": {"url": "data:;base64,AA"}}, ("image/*", "AA", "base64")),
        ({"type": "image_url", "image_url": {"url": "data:text/plain,hi"}}, ("image/*", "data:text/plain,hi", "url")),
        ({"type": "video_url", "video_url": {"url": "https://e.x/a"}}, ("video/*", "https://e.x/a", "url")),
        ({"type": "input_audio", "input_audio": {"data": "AA", "format": "wav"}}, ("audio/wav", "AA", "base64")),
        (
            {"type": "file", "file": {"file_data": "data:application/pdf;base64,AA", "filename": "a.pdf"}},
            ("application/pdf", "AA", "base64"),
        ),
        ({"type": "file", "file": {"file_data": "AA"}}, ("application/*", "AA", "base64")),
        ({"type": "file", "file": {"file_id": "file-1"}}, ("application/*", "file-1", "file")),
    ],
)
def test_media(block: dict[str, Any], media: tuple[str, str, Any]) -> None:
    """Pictures, sound and documents say their type, and whether they are content, a URL or an id."""
    assert CHAT.read({"role": "user", "content": [block]}).parts == (Media(*media, ("content", 0)),)


def test_an_earlier_spoken_answer_is_media() -> None:
    """The assistant's audio is named by its id at the provider."""
    message = CHAT.read({"role": "assistant", "content": None, "audio": {"id": "audio_1"}})
    assert message.parts == (Media("audio/*", "audio_1", "file", ("audio",)),)


@pytest.mark.parametrize("block", [{"type": "hologram", "x": 1}, {"type": "image_url"}, {"type": ["x"]}, "bare", None])
def test_unknown_parts_are_carried(block: Any) -> None:
    """A part of a type or shape that is not known stays as it is."""
    [part] = CHAT.read({"role": "user", "content": [block]}).parts
    assert isinstance(part, Opaque)
    assert part.native is block


def test_the_timestamp_is_read() -> None:
    """A number beside the provider's fields, in milliseconds."""
    assert CHAT.read({"role": "user", "content": "x", "timestamp": 5}).timestamp_ms == 5


def test_every_part_type_of_the_sdk_is_known() -> None:
    """No content part that the installed SDK documents comes out opaque."""
    chat = pytest.importorskip("openai.types.chat", reason="the openai SDK is not installed")
    samples: dict[str, Any] = {
        "text": {"text": "x"},
        "refusal": {"refusal": "x"},
        "image_url": {"image_url": {"url": "https://e.x"}},
        "input_audio": {"input_audio": {"data": "AA", "format": "mp3"}},
        "file": {"file": {"file_id": "f"}},
    }
    documented = {_literal_type(member) for member in get_args(chat.ChatCompletionContentPartParam)} | {"refusal"}
    assert documented == set(samples)
    for kind, sample in samples.items():
        [part] = CHAT.read({"role": "user", "content": [{"type": kind, **sample}]}).parts
        assert not isinstance(part, Opaque), kind


# --- rewriting and removing


def test_rewrite_changes_one_text_in_bytes() -> None:
    """Around the changed value every byte stays: duplicate keys, number spelling, spacing."""
    payload = b'{ "role":"user","n":1.50E0, "n":100000000000000000000000,"content":[{"type":"text", "text":"a"} ,{"x":1}]}'
    message = CHAT.read(payload)
    assert CHAT.rewrite(message, message.parts[0], "b").native == payload.replace(b'"a"', b'"b"')


def test_rewrite_a_call() -> None:
    """The new input is JSON text where the wire has text, and an object where a server gave an object."""
    native = {"role": "assistant", "content": None, "tool_calls": [called("a"), called("b")]}
    native["tool_calls"].append({"id": "c", "function": {"name": "f", "arguments": {"x": 1}}})
    message = CHAT.read(native)
    once = CHAT.rewrite(message, message.calls[1], {"path": "é"})
    assert once.native["tool_calls"][1]["function"]["arguments"] == '{"path":"é"}'
    assert once.native["tool_calls"][0] is native["tool_calls"][0]
    other = CHAT.rewrite(message, message.calls[2], {"y": 2})
    assert other.native["tool_calls"][2]["function"]["arguments"] == {"y": 2}


def test_rewrite_custom_and_legacy_calls() -> None:
    """Free text takes words; `function_call` keeps its name."""
    custom = CHAT.read({"role": "assistant", "tool_calls": [{"id": "a", "custom": {"name": "p", "input": "long"}}]})
    legacy = CHAT.read({"role": "assistant", "function_call": {"name": "f", "arguments": "{}"}})
    assert CHAT.rewrite(custom, custom.calls[0], "short").calls[0].input == "short"
    assert CHAT.rewrite(legacy, legacy.calls[0], {"a": 1}).calls[0] == ToolCall(None, "f", '{"a":1}', at=("function_call",))


def test_rewrite_a_result_whole_or_in_part() -> None:
    """The result as a whole becomes one string; a picture in it becomes a text part."""
    image = {"type": "image_url", "image_url": {"url": "https://e.x"}}
    native = {"role": "tool", "tool_call_id": "a", "content": [{"type": "text", "text": "x", "cache": 1}, image]}
    message = CHAT.read(native)
    [result] = message.results
    assert CHAT.rewrite(message, result, "gone").native == {**native, "content": "gone"}
    assert CHAT.rewrite(message, result.parts[0], "y").native["content"] == [
        {"type": "text", "text": "y", "cache": 1},
        image,
    ]
    assert CHAT.rewrite(message, result.parts[1], "y").native["content"][1] == {"type": "text", "text": "y"}


def test_pictures_beside_a_result_belong_to_it() -> None:
    """They are read with it, and go when it says something else, but not when only its words change."""
    images = [{"type": "image", "data": "AAAA", "mimeType": "image/png"}]
    native = {"role": "tool", "tool_call_id": "a", "content": "logo", "images": images}
    message = CHAT.read(native)
    [result] = message.results
    assert result.parts == (Text("logo", ("content",)), Media("image/png", "AAAA", "base64", ("images", 0)))
    assert CHAT.rewrite(message, result, "old").native == {"role": "tool", "tool_call_id": "a", "content": "old"}
    assert CHAT.rewrite(message, result.parts[0], "old").native == {**native, "content": "old"}


def test_rewrite_a_refusal_and_reasoning() -> None:
    """Each in the key it was read from."""
    message = CHAT.read(
        {"role": "assistant", "content": [{"type": "refusal", "refusal": "a"}], "refusal": "b", "reasoning": "c"}
    )
    for place, part in enumerate(message.parts):
        assert CHAT.rewrite(message, part, "new").parts[place] == type(part)("new", at=part.at)


def test_what_has_no_place_for_words_says_so() -> None:
    """A spoken answer cannot become a text in its place."""
    message = CHAT.read({"role": "assistant", "content": None, "audio": {"id": "audio_1"}})
    with pytest.raises(ValidationError, match="'audio' has no place for words; remove the part"):
        CHAT.rewrite(message, message.parts[0], "words")


def test_removing_the_last_call_removes_the_list() -> None:
    """OpenAI refuses an empty `tool_calls`; the rest stays the same object."""
    native = {"role": "assistant", "content": "look", "tool_calls": [called("a"), called("b")], "extra": [1]}
    message = CHAT.read(native)
    one = CHAT.remove(message, message.calls[:1])
    none = CHAT.remove(message, message.calls)
    assert one is not None
    assert one.native == {**native, "tool_calls": [called("b")]}
    assert none is not None
    assert none.native == {"role": "assistant", "content": "look", "extra": [1]}
    assert none.native["extra"] is native["extra"]


@pytest.mark.parametrize("content", ["look", [{"type": "text", "text": "look"}]])
def test_text_removed_beside_calls_leaves_null(content: Any) -> None:
    """Null is what the provider itself sends beside calls, while an empty list is refused."""
    message = CHAT.read({"role": "assistant", "content": content, "tool_calls": [called("a")]})
    after = CHAT.remove(message, message.parts[:1])
    assert after is not None
    assert after.native == {"role": "assistant", "content": None, "tool_calls": [called("a")]}


def test_content_that_was_never_there_is_not_added() -> None:
    """Removing one of two calls changes the calls and nothing else."""
    message = CHAT.read({"role": "assistant", "tool_calls": [called("a"), called("b")]})
    after = CHAT.remove(message, message.calls[:1])
    assert after is not None
    assert after.native == {"role": "assistant", "tool_calls": [called("b")]}


def test_null_content_becomes_words_when_the_calls_go() -> None:
    """OpenAI takes null only beside calls, so what is left says the empty string."""
    message = CHAT.read({"role": "assistant", "content": None, "reasoning": "hm", "tool_calls": [called("a")]})
    after = CHAT.remove(message, message.calls)
    assert after is not None
    assert after.native == {"role": "assistant", "content": "", "reasoning": "hm"}


def test_removing_everything_leaves_no_message() -> None:
    """A message without parts is none."""
    message = CHAT.read({"role": "assistant", "content": "look", "tool_calls": [called("a")]})
    assert CHAT.remove(message, message.parts) is None


def test_a_request_body_keeps_its_other_fields() -> None:
    """The messages change, the rest does not, and an unchanged body is the same object."""
    body = {"model": "m", "messages": [{"role": "user", "content": "hi"}, {"role": "user", "content": "there"}]}
    messages = CHAT.read_request(body)
    assert CHAT.write_request(body, messages) is body
    assert CHAT.write_request(body, messages[1:]) == {"model": "m", "messages": body["messages"][1:]}


# --- recognising


@pytest.mark.parametrize(
    ("native", "evidence"),
    [
        ({"role": "user", "content": "hi"}, 1),
        ({"role": "user", "content": [{"type": "text", "text": "hi"}]}, 1),
        ({"role": "assistant", "content": None}, 1),
        ({"role": "tool", "content": "x"}, 1),
        ({"role": "assistant", "content": "", "tool_calls": [called("a")]}, 2),
        ({"role": "assistant", "content": "yo", "tool_calls": None}, 2),
        ({"role": "assistant", "function_call": {"name": "f", "arguments": "{}"}}, 2),
        ({"role": "tool", "tool_call_id": "a", "content": "x"}, 2),
        ({"role": "user", "content": [{"type": "image_url", "image_url": {"url": "u"}}]}, 2),
        ({"role": "user", "content": [{"type": "file", "file": {"file_id": "f"}}]}, 2),
        ({"role": "user", "content": [{"type": "file", "data": "AA", "mediaType": "application/pdf"}]}, 0),
        ({"role": "user"}, 0),
        ({"role": ["user"], "content": "hi"}, 0),
        ({"role": "user", "content": 5}, 0),
        ({"role": "user", "content": [{"text": "hi"}]}, 0),
        ({"role": "user", "content": [{"type": ["x"]}]}, 0),
        ({"role": "model", "parts": [{"text": "hi"}]}, 0),
        ({"role": "user", "parts": [{"text": "hi"}]}, 0),
        ({"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "f", "input": {}}]}, 0),
        ({"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "x"}]}, 0),
        ({"role": "user", "content": [{"type": "image", "source": {}}]}, 0),
        ({"role": "assistant", "content": [{"type": "tool-call", "toolCallId": "a", "toolName": "f"}]}, 0),
        ({"role": "tool", "content": [{"type": "tool-result", "toolCallId": "a", "toolName": "f"}]}, 0),
        ({"role": "user", "content": [{"type": "input_text", "text": "hi"}]}, 0),
        ({"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}"}, 0),
        ({}, 0),
    ],
)
def test_evidence(native: dict[str, Any], evidence: int) -> None:
    """Keys and parts that only chat has make it certain, another provider's make it impossible."""
    assert CHAT.evidence(native) == evidence


def test_a_list_with_calls_is_recognised() -> None:
    """One message with `tool_calls` settles it for the whole list."""
    messages = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "", "tool_calls": [called("a")]}]
    assert detect_format(messages).name == "openai_chat"


# --- composing


def test_compose_an_assistant_message() -> None:
    """Words and calls are one message; arguments are JSON text, in their own spelling where they have one."""
    composed = CHAT.compose("assistant", [Text("look"), ToolCall("a", "read", {"p": 1}), ToolCall("b", "run", '{ "c":1}')])
    assert composed.payloads == (
        {
            "role": "assistant",
            "content": "look",
            "tool_calls": [called("a", "read", '{"p":1}'), called("b", "run", '{ "c":1}')],
        },
    )
    assert composed.lost == ()


@pytest.mark.parametrize(
    ("given_input", "arguments"),
    [(None, "{}"), ("", "{}"), ("*** Begin", '{"input":"*** Begin"}'), ("[1]", '{"input":"[1]"}'), ({}, "{}")],
)
def test_composed_arguments_are_always_an_object(given_input: Any, arguments: str) -> None:
    """Free text goes under `input`, nothing at all is an empty object."""
    [message] = CHAT.compose("assistant", [ToolCall("a", "f", given_input)]).payloads
    assert message["content"] is None
    assert message["tool_calls"][0]["function"]["arguments"] == arguments


def test_compose_results_before_words() -> None:
    """One `tool` message for each result, then what the user says; a failure is told in words."""
    composed = CHAT.compose(
        "user", [Text("and?"), ToolResult("a", (Text("x"),)), ToolResult("b", (Text("no"),), is_error=True)]
    )
    assert composed.payloads == (
        {"role": "tool", "tool_call_id": "a", "content": "x"},
        {"role": "tool", "tool_call_id": "b", "content": "Error: no"},
        {"role": "user", "content": "and?"},
    )


def test_compose_a_picture_in_a_result() -> None:
    """It is noted in the result and follows in a user message, after all results."""
    composed = CHAT.compose("tool", [ToolResult("a", (Text("shot"), PNG)), ToolResult("b", (Text("y"),))])
    assert composed.payloads == (
        {"role": "tool", "tool_call_id": "a", "content": "shot\n[image/png attached below]"},
        {"role": "tool", "tool_call_id": "b", "content": "y"},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "[image/png from the result of a]"},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
            ],
        },
    )


@pytest.mark.parametrize(
    ("media", "block"),
    [
        (Media("image/*", "https://e.x", "url"), {"type": "image_url", "image_url": {"url": "https://e.x"}}),
        (Media("audio/mpeg", "AA"), {"type": "input_audio", "input_audio": {"data": "AA", "format": "mp3"}}),
        (Media("application/*", "file-1", "file"), {"type": "file", "file": {"file_id": "file-1"}}),
        (
            Media("application/pdf", "AA"),
            {"type": "file", "file": {"file_data": "data:application/pdf;base64,AA", "filename": "file.pdf"}},
        ),
    ],
)
def test_compose_media(media: Media, block: dict[str, Any]) -> None:
    """Each kind in the content part that chat has for it."""
    assert CHAT.compose("user", [media]).payloads == ({"role": "user", "content": [block]},)


def test_compose_a_text_document() -> None:
    """A document that is plain text is said as text."""
    assert CHAT.compose("user", [Media("text/plain", "read me", "text")]).payloads == ({"role": "user", "content": "read me"},)


@pytest.mark.parametrize(
    ("role", "part", "words"),
    [
        ("assistant", Reasoning("hm"), "another model's reasoning"),
        ("assistant", Reasoning("hm", is_bound=True), "signed reasoning"),
        ("assistant", ToolCall("a", "search", is_hosted=True), "that the provider itself ran"),
        ("assistant", PNG, "Media"),
        ("user", Media("video/mp4", "AA"), "Media"),
        ("user", Media("audio/ogg", "AA"), "Media"),
        ("user", Media("image/*", "AA"), "Media"),
        ("user", Media("application/pdf", "https://e.x", "url"), "Media"),
        ("user", Opaque("hologram"), "'hologram'"),
        ("user", ToolCall("a", "dial"), "call of 'dial': in openai_chat only the assistant calls tools"),
        ("system", PNG, "Media"),
    ],
)
def test_what_chat_cannot_say_is_listed(role: Any, part: Part, words: str) -> None:
    """Nothing is lost silently, and nothing else is made of it."""
    composed = CHAT.compose(role, [part])
    assert composed.payloads == ()
    assert len(composed.lost) == 1
    assert words in composed.lost[0]


def test_what_a_result_cannot_hold_is_listed() -> None:
    """The result goes out without it."""
    composed = CHAT.compose("tool", [ToolResult("a", (Text("x"), Opaque("hologram")))])
    assert composed.payloads == ({"role": "tool", "tool_call_id": "a", "content": "x"},)
    assert composed.lost == ("block of type 'hologram': openai_chat has no place for it",)


def test_missing_ids_are_made_from_names() -> None:
    """The nth call of a tool and its nth result get the same id, though they are composed apart."""
    [asked] = CHAT.compose(
        "assistant", [ToolCall(None, "read", {}), ToolCall(None, "run", {}), ToolCall(None, "read", {})]
    ).payloads
    results = [ToolResult(None, (Text(name),), name) for name in ("read", "read", "run")]
    answers = CHAT.compose("tool", results).payloads
    assert [call["id"] for call in asked["tool_calls"]] == ["call_read", "call_run", "call_read_2"]
    assert [answer["tool_call_id"] for answer in answers] == ["call_read", "call_read_2", "call_run"]


neutral_parts = st.one_of(
    st.builds(Text, st.text()),
    st.builds(Reasoning, st.text(), st.booleans()),
    st.builds(
        Media,
        st.sampled_from(["image/png", "image/*", "audio/wav", "application/pdf", "video/mp4"]),
        st.text(min_size=1),
        st.sampled_from(["base64", "url", "file", "text"]),
    ),
    st.builds(Opaque, st.text(min_size=1)),
    st.builds(
        ToolCall,
        st.none() | st.text(min_size=1),
        st.text(min_size=1),
        st.none() | st.text() | st.dictionaries(st.text(), st.integers()),
        st.booleans(),
    ),
)
results = st.builds(
    ToolResult,
    st.none() | st.text(min_size=1),
    st.lists(neutral_parts.filter(lambda part: isinstance(part, Text | Media | Opaque)), max_size=3).map(tuple),
    st.none() | st.text(min_size=1),
    st.booleans(),
    st.booleans(),
)


@given(st.sampled_from(["system", "user", "assistant", "tool"]), st.lists(neutral_parts | results, max_size=6))
def test_composed_messages_are_what_the_sdk_takes(role: Any, parts: list[Part]) -> None:
    """Whatever is composed has the SDK's types, with no key it does not know, and reads back as chat."""
    pytest.importorskip("openai", reason="the openai SDK is not installed")
    for payload in CHAT.compose(role, parts).payloads:
        assert _validated(payload) == payload
        assert CHAT.evidence(payload) > 0
        assert not any(isinstance(part, Opaque) for part in CHAT.read(payload).walk())


# --- properties over any payload

words = st.text(st.characters(exclude_categories=()), max_size=8)
numbers = st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False)
anything = st.recursive(
    st.none() | st.booleans() | numbers | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=6,
)
urls = st.sampled_from(["data:image/png;base64,AAAA", "https://e.x/a.png", ""]) | words
part_blocks = st.one_of(
    st.fixed_dictionaries({"type": st.just("text"), "text": words}, optional={"cache_control": anything}),
    st.fixed_dictionaries({"type": st.just("refusal"), "refusal": words}),
    st.fixed_dictionaries({"type": st.just("image_url"), "image_url": st.fixed_dictionaries({"url": urls}) | anything}),
    st.fixed_dictionaries({"type": st.just("input_audio"), "input_audio": st.just({"data": "AA", "format": "wav"}) | anything}),
    st.fixed_dictionaries(
        {"type": st.just("file"), "file": st.fixed_dictionaries({}, optional={"file_data": urls, "file_id": words})}
    ),
    anything,
)
call_entries = st.one_of(
    st.fixed_dictionaries(
        {"id": words, "function": st.fixed_dictionaries({}, optional={"name": words, "arguments": words | anything})},
        optional={"type": st.just("function"), "index": anything},
    ),
    st.fixed_dictionaries({"id": words, "custom": st.fixed_dictionaries({"name": words, "input": words})}),
    anything,
)
messages = st.builds(
    lambda known, unknown: {**unknown, **known},
    st.fixed_dictionaries(
        {"role": st.sampled_from(["system", "developer", "user", "assistant", "tool", "function"])},
        optional={
            "content": st.lists(part_blocks, max_size=4) | words | anything,
            "tool_calls": st.lists(call_entries, max_size=3) | anything,
            "function_call": st.fixed_dictionaries({"name": words, "arguments": words}) | st.none(),
            "tool_call_id": words | anything,
            "reasoning_content": words | anything,
            "refusal": words | anything,
            "audio": st.fixed_dictionaries({"id": words}) | anything,
            "images": st.lists(st.just({"data": "AA", "mimeType": "image/png"}) | anything, max_size=2) | anything,
            "timestamp": anything,
        },
    ),
    st.dictionaries(words.map(lambda key: f"x-{key}"), anything, max_size=2),
)


@given(messages)
def test_what_was_read_is_written_as_it_was(native: dict[str, Any]) -> None:
    """An object comes back as the very object, unchanged; bytes as the very bytes, with the same meaning."""
    before = copy.deepcopy(native)
    message = CHAT.read(native)
    assert CHAT.write(message) is native
    assert native == before
    payload = json.dumps(native, indent=1).encode()
    from_bytes = CHAT.read(payload)
    assert CHAT.write(from_bytes) is payload
    assert (from_bytes.role, len(from_bytes.parts)) == (message.role, len(message.parts))


@given(messages, words.filter(bool))
def test_rewrite_changes_only_the_part_it_names(native: dict[str, Any], replacement: str) -> None:
    """The part says the replacement, every other leaf is as before, and the input is untouched."""
    before = copy.deepcopy(native)
    message = CHAT.read(native)
    for part in message.walk():
        after = _rewritten(message, part, replacement)
        if after is None:
            assert part.at[0] in ("audio", "images", "tool_calls")
            continue
        assert _says(after, part) == ({"n": replacement} if isinstance(part, ToolCall) else replacement)
        allowed = [part.at, ("images",)] if isinstance(part, ToolResult) else [part.at]
        assert all(any(path[: len(at)] == at for at in allowed) for path in _changed(native, after.native))
    assert native == before


@given(messages, words.filter(bool))
def test_rewriting_bytes_means_the_same_as_rewriting_the_object(native: dict[str, Any], replacement: str) -> None:
    """Whether the payload is held as an object or as bytes, the change is the same."""
    in_bytes, message = CHAT.read(json.dumps(native).encode()), CHAT.read(native)
    for byte_part, part in zip(in_bytes.walk(), message.walk(), strict=True):
        after, expected = _rewritten(in_bytes, byte_part, replacement), _rewritten(message, part, replacement)
        assert (after and decode(after.native)) == (expected and expected.native)


@given(messages, st.data())
def test_remove_takes_the_named_parts_and_no_others(native: dict[str, Any], data: st.DataObject) -> None:
    """What is left says what it said, in order; of the gone nothing remains but an empty string where one is needed."""
    message = CHAT.read(native)
    gone = [part for part in message.parts if data.draw(st.booleans())]
    left = [part for part in message.parts if all(part is not other for other in gone)]
    after = CHAT.remove(message, gone)
    if not left:
        assert after is None
        return
    assert after is not None
    assert _substance(after.parts) == _substance(left)
    assert after.native.get("tool_calls") != [] or native.get("tool_calls") == []


@given(st.dictionaries(words | st.sampled_from(["role", "content", "type", "tool_calls", "parts"]), anything))
def test_any_object_can_be_read_and_weighed(native: dict[str, Any]) -> None:
    """No object, however odd, makes reading or recognising fail."""
    CHAT.read(native)
    assert CHAT.evidence(native) in (0, 1, 2)


def test_what_is_no_object_is_refused() -> None:
    """A list or a number is no message."""
    with pytest.raises(FormatError, match="must be a JSON object, not list"):
        CHAT.read(b"[]")


# --- recorded conversations


@needs_corpus
@pytest.mark.corpus
def test_recorded_conversations_are_read_whole() -> None:
    """Every message of the tau-bench runs is chat, nothing in it is opaque, and calls and results are all found."""
    [row] = corpus_rows("tau-bench")
    runs = json.loads(corpus_path(row).read_bytes())
    calls = answers = 0
    for run in runs:
        assert detect_format(run["traj"]).name == "openai_chat"
        for native in run["traj"]:
            message = CHAT.read(native)
            assert CHAT.write(message) is native
            assert not any(isinstance(part, Opaque) for part in message.walk())
            calls, answers = calls + len(message.calls), answers + len(message.results)
    assert (len(runs), calls, answers) == (row["n_sessions"], row["n_tool_calls"], row["n_tool_results"])


# --- how the tests look at payloads


def _literal_type(member: Any) -> str:
    from typing_extensions import get_type_hints

    [kind] = get_args(get_type_hints(member)["type"])
    return str(kind)


def _validated(payload: dict[str, Any]) -> Any:
    """The payload after the SDK's own types looked at it, unknown keys left out."""
    return _plain(_message_adapter().validate_python(payload))


@functools.cache
def _message_adapter() -> Any:
    import pydantic
    from openai.types.chat import ChatCompletionMessageParam

    return pydantic.TypeAdapter(ChatCompletionMessageParam)


def _plain(value: Any) -> Any:
    """Iterables are validated only when they are walked through."""
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    return [_plain(inner) for inner in value] if hasattr(value, "__iter__") and not isinstance(value, str) else value


def _rewritten(message: Message, part: Part, replacement: str) -> Message | None:
    try:
        return CHAT.rewrite(message, part, {"n": replacement} if isinstance(part, ToolCall) else replacement)
    except ValidationError:
        return None


def _says(message: Message, like: Part) -> Any:
    """What is now in the place of a part; a result and its only text may share a place."""
    found = [
        part for part in message.walk() if part.at == like.at and isinstance(part, ToolResult) == isinstance(like, ToolResult)
    ]
    assert len(found) == 1
    return found[0].arguments if isinstance(found[0], ToolCall) else found[0].text


def _changed(before: Any, after: Any) -> list[tuple[Any, ...]]:
    old, new = dict(_leaves(before)), dict(_leaves(after))
    return [path for path in {*old, *new} if path not in old or path not in new or old[path] != new[path]]


def _leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    yield path, value if not isinstance(value, dict | list) else type(value)
    for key, held in inner:
        yield from _leaves(held, (*path, key))


def _substance(parts: Any) -> list[Any]:
    return [_without_place(part) for part in parts if not (isinstance(part, Text) and not part.text)]


def _without_place(part: Any) -> Any:
    return (type(part), *(getattr(part, name) for name in part.__struct_fields__ if name not in ("at", "parts")))


# --- what the API refuses


@pytest.mark.parametrize("content", [None, [], [None], [5], [[], 5]])
@pytest.mark.parametrize("place", [1, 2])
def test_content_without_a_single_part_is_legal_after_one_repair(content, place):
    """Of a result as of a call: what is left of a list of nothing is no empty list (R61)."""
    call = {"id": "c1", "type": "function", "function": {"name": "ls", "arguments": "{}"}}
    messages = [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": "I look", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "a.py"},
    ]
    messages[place]["content"] = content
    legal = make_legal(messages, format="openai_chat")
    assert check(legal, format="openai_chat") == []


def test_a_string_among_the_parts_becomes_a_part():
    """What it says is kept."""
    history = [{"role": "user", "content": ["one", {"type": "text", "text": "two"}]}]
    assert check(history, format="openai_chat")
    (message,) = make_legal(history, format="openai_chat")
    assert message["content"] == [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]
