import json

import pytest
from hypothesis import given
from msgspec import structs

from redline import FORMATS, FormatError, ValidationError, detect_format, find_format, read_messages
from redline.providers.format import input_as_object, kind_of, known_role, result_words, split_data_url, string_at, what_is_lost
from redline.testing import conversation, json_values
from redline.values.messages import Opaque, Reasoning, Text, ToolCall, ToolResult

ANTHROPIC = FORMATS["anthropic"]
BODY = {
    "model": "m",
    "system": [{"type": "text", "text": "be brief", "cache_control": {"type": "ephemeral"}}],
    "tools": [{"name": "read", "input_schema": {}}],
    "messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "ok"}],
}


def test_request_body_passes_through():
    """An unchanged body is the same object; a changed one keeps every other field."""
    messages = ANTHROPIC.read_request(BODY)
    assert ANTHROPIC.write_request(BODY, messages) is BODY
    struck = ANTHROPIC.rewrite(messages[0], messages[0].parts[0], "[gone]")
    after = ANTHROPIC.write_request(BODY, [struck, messages[1]])
    assert after["messages"][0] == {"role": "user", "content": "[gone]"}
    assert after["messages"][1] is BODY["messages"][1]
    assert {key: after[key] for key in ("model", "system", "tools")} == {key: BODY[key] for key in ("model", "system", "tools")}


def test_part_that_was_not_read_cannot_be_rewritten():
    """A part without a place in the payload is refused."""
    with pytest.raises(ValidationError, match="was not read from a payload"):
        ANTHROPIC.rewrite(ANTHROPIC.read(BODY["messages"][0]), Text("made up"), "x")


@pytest.mark.parametrize("payload", [b"nonsense", b"[1]", b'"hi"', b"[" * 100_000])
def test_what_is_no_object_is_a_format_error(payload):
    """Bytes that are no JSON object are refused with a sentence."""
    with pytest.raises(FormatError, match="must be a JSON object"):
        ANTHROPIC.read(payload)


@pytest.mark.parametrize("format", FORMATS)
@given(block=json_values())
def test_any_block_becomes_a_part(format, block):
    """Whatever is in a list of blocks is read, and carried as it is where the format does not know it."""
    field = "parts" if format == "gemini" else "content"
    (part,) = FORMATS[format].read({"role": "user", field: [block]}).parts
    assert part.at == (field, 0)
    assert part == Opaque(part.kind, block, part.at) if isinstance(part, Opaque) else isinstance(block, dict)


@pytest.mark.parametrize(
    ("format", "kind"),
    [
        ("anthropic", "text"),
        ("anthropic", "image"),
        ("openai_chat", "text"),
        ("openai_responses", "input_image"),
        ("ai_sdk", "file"),
    ],
)
def test_malformed_block_is_carried_as_it_is(format, kind):
    """A block of a known type without what the type asks for is not guessed at."""
    block = {"type": kind, "other": 1}
    (part,) = FORMATS[format].read({"role": "user", "content": [block]}).parts
    assert part == Opaque(kind, block, ("content", 0))


def test_format_is_found_by_name_or_recognised():
    """A name finds its format, auto looks at the messages, an unknown one lists the known."""
    assert find_format("gemini").name == "gemini"
    assert find_format("auto", [{"role": "user", "parts": []}]).name == "gemini"
    assert detect_format([]).name == "openai_chat"
    with pytest.raises(ValidationError, match="Known are: auto, openai_chat"):
        find_format("nope")


def test_messages_of_no_format_are_refused_with_the_place():
    """The error names the first message that does not fit."""
    with pytest.raises(FormatError, match="message 1"):
        read_messages([{"role": "user", "content": "hi"}, {"role": "wizard", "content": 3}])


def test_failure_is_said_in_words_once():
    """A result that reports a failure starts with Error: where the format has no field for it."""
    assert result_words(ToolResult("a", (Text("no file"),), is_error=True)) == "Error: no file"
    assert result_words(ToolResult("a", (Text("Error: no file"),), is_error=True)) == "Error: no file"


def test_what_is_lost_is_said():
    """Each kind of part that cannot be carried is named."""
    assert "signed reasoning" in what_is_lost(Reasoning("hm", is_bound=True), "gemini")
    assert "'weird'" in what_is_lost(Opaque("weird"), "gemini")
    assert "only the assistant" in what_is_lost(ToolCall("c", "read"), "openai_chat")
    assert "the provider itself ran" in what_is_lost(ToolResult("c", is_hosted=True), "openai_chat")


# --- what the repair of calls and results needs


def exchange(format, *ids):
    """A message with these calls and one with their results; several of either where each is a message of its own."""
    calls = tuple(ToolCall(own, "read", {}) for own in ids)
    results = tuple(ToolResult(own, (Text(f"of {own}"),), "read") for own in ids)
    return [FORMATS[format].read(one) for one in conversation(format, [("assistant", calls), ("tool", results)])]


@pytest.mark.parametrize("format", FORMATS)
def test_call_and_result_are_renamed(format):
    """The id that pairs them is exchanged, and nothing else."""
    for message in exchange(format, "a"):
        after = FORMATS[format].rename(message, {0: "b"})
        assert (*after.calls, *after.results)[0] in (
            *(structs.replace(call, id="b") for call in message.calls),
            *(structs.replace(result, call_id="b") for result in message.results),
        )
        assert after.native == json.loads(json.dumps(message.native).replace('"a"', '"b"'))


@pytest.mark.parametrize("format", [name for name, format in FORMATS.items() if format.blocks_field])
def test_results_are_gathered_in_front(format):
    """Own results first, then those of the others, then the rest; and one of them can be set apart again."""
    writer = FORMATS[format]
    _, first = exchange(format, "a", "b")
    _, second = exchange(format, "c")
    words = conversation(format, [("user", (Text("hi"),))])[0][writer.blocks_field]
    mixed = writer.read({**first.native, writer.blocks_field: [*words, *first.native[writer.blocks_field]]})
    gathered = writer.gather(mixed, [second])
    assert [result.call_id for result in gathered.results] == ["a", "b", "c"]
    assert isinstance(gathered.parts[-1], Text)
    alone = writer.set_apart(gathered, [gathered.results[1]])
    assert [result.call_id for result in alone.results] == ["b"]
    assert len(alone.parts) == 1


@pytest.mark.parametrize("format", FORMATS)
def test_call_is_answered_with_a_failure(format):
    """The answer pairs with the call and says the words."""
    asked, *_ = exchange(format, "a")
    answer = FORMATS[format].answer(asked, asked.calls[0], "interrupted")
    assert answer is not None
    (told,) = answer.results
    assert told.call_id == "a"
    assert told.is_error
    assert "interrupted" in told.text


@pytest.mark.parametrize(
    ("format", "id", "accepted"),
    [("anthropic", "a.b", False), ("openai_chat", "a.b", True), ("ai_sdk", "", False), ("gemini", "", True)],
)
def test_accepted_ids(format, id, accepted):
    """Each provider has its own taste."""
    asked, answered = exchange(format, id)
    assert FORMATS[format].accepts_id(asked, asked.calls[0]) is accepted
    assert FORMATS[format].accepts_id(answered, answered.results[0]) is accepted


def test_strings_only():
    """An id, name or text is taken where it is a string, and nowhere else."""
    assert string_at({"id": "a"}, "id") == "a"
    assert string_at({"id": 7}, "id") is None
    assert string_at({}, "id") is None


def test_roles_by_the_names_of_a_format():
    """A role that the format does not know is none."""
    assert known_role({"role": "model"}, {"model": "assistant"}) == "assistant"
    assert known_role({"role": ["model"]}, {"model": "assistant"}) is None
    assert known_role({}, {"model": "assistant"}) is None


@pytest.mark.parametrize(
    ("held", "wanted"),
    [({"a": 1}, {"a": 1}), ('{"a": 1}', {"a": 1}), ("ls", {"input": "ls"}), (None, {}), ("", {}), ([1], {"input": [1]})],
)
def test_input_as_an_object(held, wanted):
    """An object stays, its JSON text is parsed, anything else is under `input`."""
    assert input_as_object(held) == wanted


def test_types_of_blocks():
    """What names no type, or is no block, is unknown."""
    assert kind_of({"type": "text"}) == "text"
    assert [kind_of(block) for block in ({}, {"type": 7}, "text", None)] == ["unknown"] * 4


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("data:image/png;base64,QUJD", ("image/png", "QUJD")),
        ("data:;base64,QUJD", ("", "QUJD")),
        ("data:text/plain,hello", None),
        ("https://example.com/a.png", None),
    ],
)
def test_data_urls_are_taken_apart(url, expected):
    """Only base64 data URLs hold content."""
    assert split_data_url(url) == expected
