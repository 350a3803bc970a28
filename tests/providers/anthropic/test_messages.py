"""The Anthropic format reads every block, writes back what it read, and changes only the part it is told to."""

import copy
import json
from random import Random
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

import redline
from redline.errors import FormatError, ValidationError
from redline.providers.anthropic.messages import Anthropic
from redline.providers.format import Format
from redline.values import payloads
from redline.values.messages import Media, Message, Opaque, Part, Reasoning, Text, ToolCall, ToolResult
from tests.corpus import corpus_path, corpus_rows, needs_corpus
from tests.values.test_payloads import any_text, json_objects, json_values, patient, random_sources, spell_bytes, unknown_keys

ANTHROPIC = Anthropic()

# --- what holds for every format; the tests of the others use these too


def assert_reads_alike(format: Format, native: dict[str, Any], random: Random) -> None:
    """The payload comes back as the very same, is not touched, and its bytes say the same as its object."""
    original, raw = copy.deepcopy(native), spell_bytes(native, random)
    assert format.write(format.read(native)) is native
    assert format.write(format.read(raw)) is raw
    assert native == original
    from_bytes, from_object = format.read(raw), format.read(payloads.decode(raw))
    assert (from_bytes.role, from_bytes.parts) == (from_object.role, from_object.parts)
    assert format.evidence(native) in (0, 1, 2)


def assert_rewrites_one(format: Format, message: Message, part: Part, words: str) -> Part:
    """Rewriting a part leaves everything outside its place equal; gives back what is there now."""
    native = payloads.decode(message.native)
    original = copy.deepcopy(native)
    after = format.rewrite(message, part, {"said": words} if isinstance(part, ToolCall) else words)
    changed = payloads.decode(after.native)
    assert native == original
    assert type(after.native) is type(message.native)
    assert payloads.replace(changed, part.at, None) == payloads.replace(native, part.at, None)
    return next(now for now in after.walk() if now.at[: len(part.at)] == part.at)


def assert_says(before: Part, now: Part, words: str) -> None:
    """A rewritten part is of the same kind and says the words; a call has them as its input."""
    match before, now:
        case ToolCall(), ToolCall():
            assert now == msgspec.structs.replace(before, input={"said": words})
        case ToolResult(), ToolResult():
            assert now.text == words
            assert msgspec.structs.replace(now, parts=()) == msgspec.structs.replace(before, parts=())
        case ((Media() | Opaque() | Text()), Text()):
            assert now.text == words
        case Reasoning(), (Reasoning() | Text()):
            assert now.text == words
        case _:
            pytest.fail(f"{before} became {now}")


def assert_removes(format: Format, message: Message, gone: set[int]) -> None:
    """Without some of its parts a message holds the others as they were, and every other field."""
    after = format.remove(message, [message.parts[number] for number in gone])
    if len(gone) == len(message.parts):
        assert after is None
        return
    assert after is not None
    kept = [part for number, part in enumerate(message.parts) if number not in gone]
    assert [placeless(part) for part in after.parts] == [placeless(part) for part in kept]
    before, now = payloads.decode(message.native), payloads.decode(after.native)
    assert before.keys() == now.keys()
    assert [key for key in before if before[key] != now[key]] in ([], ["content"], ["parts"])


def placeless(part: Part) -> Part:
    """The part without its place."""
    if isinstance(part, ToolResult):
        return msgspec.structs.replace(part, at=(), parts=tuple(placeless(inner) for inner in part.parts))
    return msgspec.structs.replace(part, at=())


def blocks_of(*kinds: dict[str, st.SearchStrategy[Any]]) -> st.SearchStrategy[list[Any]]:
    """Lists of such blocks, each with unknown keys and some keys missing or null, and of things that are no blocks."""
    whole = st.one_of([st.fixed_dictionaries(kind) for kind in kinds])
    torn = st.tuples(whole, st.randoms(use_true_random=False)).map(_torn)
    with_more = st.tuples(st.one_of(whole, whole, whole, torn), unknown_keys).map(lambda pair: {**pair[1], **pair[0]})
    return st.lists(st.one_of(with_more, with_more, with_more, json_values), min_size=1, max_size=3)


def _torn(block_and_random: tuple[dict[str, Any], Random]) -> dict[str, Any]:
    block, random = block_and_random
    return {key: random.choice([value, None, 7, []]) for key, value in block.items() if random.random() < 0.7}


maybe_text = st.one_of(any_text, st.none())
ids = st.sampled_from(["", "1", "toolu_2", "\ud800"])
names = st.sampled_from(["read", "", "Bash"])

# --- Anthropic's messages

_sources = st.one_of(
    st.fixed_dictionaries({"type": st.just("base64"), "media_type": st.just("image/png"), "data": any_text}),
    st.fixed_dictionaries({"type": st.just("url"), "url": any_text}),
    st.fixed_dictionaries({"type": st.just("file"), "file_id": any_text}),
)
_inner_blocks = blocks_of(
    {"type": st.just("text"), "text": any_text},
    {"type": st.just("image"), "source": _sources},
    {"type": st.just("search_result"), "content": json_values},
)
_blocks = blocks_of(
    {"type": st.just("text"), "text": any_text},
    {"type": st.just("thinking"), "thinking": any_text, "signature": maybe_text},
    {"type": st.just("redacted_thinking"), "data": any_text},
    {"type": st.sampled_from(["tool_use", "server_tool_use"]), "id": ids, "name": names, "input": json_objects},
    {"type": st.just("tool_result"), "tool_use_id": ids, "content": st.one_of(any_text, _inner_blocks, st.none())},
    {"type": st.just("tool_result"), "tool_use_id": ids, "content": any_text, "is_error": st.booleans()},
    {"type": st.sampled_from(["image", "document"]), "source": _sources},
    {"type": st.just("something new"), "text": any_text},
)
_messages = st.builds(
    lambda more, role, content: {**more, "role": role, "content": content},
    unknown_keys,
    st.sampled_from(["user", "assistant", "system", None, "other"]),
    st.one_of(any_text, _blocks, _blocks, st.none()),
)


def _message_of(*blocks: Any, role: str = "user") -> dict[str, Any]:
    return {"role": role, "content": list(blocks)}


def _only_part(*blocks: Any, role: str = "user") -> Part:
    (part,) = ANTHROPIC.read(_message_of(*blocks, role=role)).parts
    return part


# --- reading


@pytest.mark.parametrize(
    ("block", "part"),
    [
        ({"type": "text", "text": "hi"}, Text("hi")),
        ({"type": "thinking", "thinking": "hm", "signature": "s"}, Reasoning("hm", is_bound=True)),
        ({"type": "thinking", "thinking": "hm", "signature": ""}, Reasoning("hm")),
        ({"type": "redacted_thinking", "data": "x"}, Reasoning("", is_bound=True)),
        ({"type": "tool_use", "id": "1", "name": "ls", "input": {"a": 1}}, ToolCall("1", "ls", {"a": 1})),
        ({"type": "server_tool_use", "id": "1", "name": "s", "input": {}}, ToolCall("1", "s", {}, is_hosted=True)),
        ({"type": "mcp_tool_use", "id": "1", "name": "s", "input": {}}, ToolCall("1", "s", {}, is_hosted=True)),
        ({"type": "tool_result", "tool_use_id": "1", "content": "ok"}, ToolResult("1", (Text("ok"),))),
        ({"type": "tool_result", "tool_use_id": "1", "is_error": True}, ToolResult("1", is_error=True)),
        (
            {"type": "mcp_tool_result", "tool_use_id": "1", "content": [{"type": "text", "text": "ok"}]},
            ToolResult("1", (Text("ok"),), is_hosted=True),
        ),
        (
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA"}},
            Media("image/png", "AA"),
        ),
        ({"type": "image", "source": {"type": "url", "url": "https://x"}}, Media("image/*", "https://x", "url")),
        ({"type": "document", "source": {"type": "file", "file_id": "f"}}, Media("application/*", "f", "file")),
        (
            {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "hi"}},
            Media("text/plain", "hi", "text"),
        ),
        ({"type": "fallback", "to": {}}, Opaque("fallback", {"type": "fallback", "to": {}})),
        ({"type": "text", "text": None}, Opaque("text", {"type": "text", "text": None})),
        ({"type": ["text"]}, Opaque("unknown", {"type": ["text"]})),
        ("words", Opaque("unknown", "words")),
        ({"type": "tool_use", "id": 7, "name": None}, ToolCall(None, "")),
    ],
)
def test_each_block_is_its_part(block: Any, part: Part) -> None:
    """Every known block becomes its part, and everything else is carried as it is."""
    assert placeless(_only_part(block)) == part


def test_the_blocks_of_a_result_are_inside_it() -> None:
    """Words and pictures are read, anything else is carried."""
    content = [
        {"type": "text", "text": "a"},
        {"type": "image", "source": {"type": "url", "url": "u"}},
        {"type": "tool_reference", "tool_name": "x"},
        {"type": "thinking", "thinking": "hm"},
    ]
    result = _only_part({"type": "tool_result", "tool_use_id": "1", "content": content})
    assert isinstance(result, ToolResult)
    kinds = [type(part) for part in result.parts]
    assert kinds == [Text, Media, Opaque, Opaque]
    assert [part.at for part in result.parts] == [("content", 0, "content", number) for number in range(4)]


@pytest.mark.parametrize("role", ["user", "assistant", "system"])
def test_roles_are_as_given(role: str) -> None:
    """Results are in user messages, and such a message is the user's."""
    assert ANTHROPIC.read({"role": role, "content": "hi"}).role == role


@pytest.mark.parametrize("role", [None, "other", ["user"], 7])
def test_an_unknown_role_is_the_users(role: Any) -> None:
    """A message is read whatever its role says."""
    assert ANTHROPIC.read({"role": role, "content": "hi"}).role == "user"


def test_a_number_is_a_timestamp() -> None:
    """A stored message may carry its time in milliseconds."""
    assert ANTHROPIC.read({"role": "user", "content": "", "timestamp": 0}).timestamp_ms == 0
    assert ANTHROPIC.read({"role": "user", "content": "", "timestamp": "2026"}).timestamp_ms is None


def test_a_payload_that_is_no_object_is_refused() -> None:
    """The error says what was given."""
    with pytest.raises(FormatError, match="must be a JSON object, not list"):
        ANTHROPIC.read(b"[]")


@patient
@given(_messages, random_sources)
def test_reading_and_writing_give_the_payload_back(native: dict[str, Any], random: Random) -> None:
    """Whatever a message holds, it goes out as it came in."""
    assert_reads_alike(ANTHROPIC, native, random)


# --- changing


@patient
@given(_messages, any_text, random_sources)
def test_a_rewritten_part_says_the_words(native: dict[str, Any], words: str, random: Random) -> None:
    """Each part, also inside results, can be rewritten without touching its neighbours."""
    for payload in (native, spell_bytes(native, random)):
        message = ANTHROPIC.read(payload)
        for part in message.walk():
            assert_says(part, assert_rewrites_one(ANTHROPIC, message, part, words), words)


@patient
@given(_messages, random_sources, st.data())
def test_removal_leaves_the_rest(native: dict[str, Any], random: Random, data: st.DataObject) -> None:
    """Any of the parts can go; with the last one goes the message."""
    for payload in (native, spell_bytes(native, random)):
        message = ANTHROPIC.read(payload)
        if message.parts:
            assert_removes(ANTHROPIC, message, data.draw(st.sets(st.sampled_from(range(len(message.parts))))))


def test_the_fields_of_a_result_stay() -> None:
    """Only the content of a result gives way."""
    block = {"type": "tool_result", "tool_use_id": "1", "content": [{"type": "text"}], "is_error": True, "x": [1]}
    message = ANTHROPIC.read(_message_of(block))
    after = ANTHROPIC.rewrite(message, message.parts[0], "gone")
    assert after.native == _message_of({**block, "content": "gone"})


def test_a_cache_breakpoint_survives_its_picture() -> None:
    """Words in the place of a picture mark the same end of the cached prefix."""
    marked = {"type": "image", "source": {"type": "url", "url": "u"}, "cache_control": {"type": "ephemeral"}}
    message = ANTHROPIC.read(_message_of(marked))
    after = ANTHROPIC.rewrite(message, message.parts[0], "gone")
    assert after.native == _message_of({"type": "text", "text": "gone", "cache_control": {"type": "ephemeral"}})


def test_only_a_part_that_was_read_can_be_rewritten() -> None:
    """A part made by hand has no place in the message."""
    with pytest.raises(ValidationError, match="was not read from a payload"):
        ANTHROPIC.rewrite(ANTHROPIC.read({"role": "user", "content": "hi"}), Text("hi"), "x")


# --- recognising


@pytest.mark.parametrize(
    ("native", "evidence"),
    [
        ({"role": "user", "content": "hi"}, 1),
        (_message_of({"type": "text", "text": "hi"}), 1),
        (_message_of({"type": "tool_use", "id": "1", "name": "ls", "input": {}}, role="assistant"), 2),
        (_message_of({"type": "tool_result", "tool_use_id": "1"}), 2),
        (_message_of({"type": "tool_result", "content": "the id is missing"}), 2),
        (_message_of({"type": "tool_result", "id": "1", "tool_use_id": "1"}), 2),
        (_message_of({"type": "tool_result", "id": "1", "result": {}}), 0),
        (_message_of({"type": "tool-result", "toolCallId": "1"}), 0),
        (_message_of({"type": "image_url", "image_url": {}}), 0),
        (_message_of("id", {"id": 1}, {"type": ["x"]}, None), 1),
        ({"role": "assistant", "content": None, "tool_calls": []}, 0),
        ({"role": "tool", "content": "x", "tool_call_id": "1"}, 0),
        ({"role": "model", "parts": []}, 0),
        ({"role": ["user"], "content": "hi"}, 0),
        ({"role": "user"}, 0),
    ],
)
def test_its_own_are_recognised(native: dict[str, Any], evidence: int) -> None:
    """Its own blocks are certain, another format's keys, blocks and roles impossible."""
    assert ANTHROPIC.evidence(native) == evidence


# --- composing


def test_composed_results_come_first() -> None:
    """The provider wants results at the front of the message."""
    composed = ANTHROPIC.compose("user", [Text("and now?"), ToolResult("1", (Text("ok"),)), ToolResult("2")])
    assert composed.payloads == (
        _message_of(
            {"type": "tool_result", "tool_use_id": "1", "content": "ok"},
            {"type": "tool_result", "tool_use_id": "2", "content": ""},
            {"type": "text", "text": "and now?"},
        ),
    )
    assert composed.lost == ()


def test_a_composed_call_has_an_object_as_input() -> None:
    """Free text is put under a name."""
    composed = ANTHROPIC.compose("assistant", [Text("look"), ToolCall("1", "patch", "***")])
    call = {"type": "tool_use", "id": "1", "name": "patch", "input": {"input": "***"}}
    assert composed.payloads == (_message_of({"type": "text", "text": "look"}, call, role="assistant"),)


def test_a_composed_failure_is_flagged() -> None:
    """By its flag, with words in it; beside a picture, which the flag forbids, in words (R59)."""
    block = {"type": "tool_result", "tool_use_id": "1"}
    flagged = {**block, "content": "The tool failed and said nothing.", "is_error": True}
    assert ANTHROPIC.compose("tool", [ToolResult("1", (), is_error=True)]).payloads == (_message_of(flagged),)
    result = ToolResult("1", (Text("no"), Media("image/png", "AA")), is_error=True)
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA"}}
    words = [{"type": "text", "text": "Error:"}, {"type": "text", "text": "no"}]
    assert ANTHROPIC.compose("tool", [result]).payloads == (_message_of({**block, "content": [*words, image]}),)


def test_leading_system_messages_are_lifted_out() -> None:
    """Those before anybody else speaks become the request's `system`, as blocks of text; later ones stay (R6)."""
    marked = {"type": "text", "text": "and kind", "cache_control": {"type": "ephemeral"}}
    head = [{"role": "system", "content": "be brief", "timestamp": 1}, {"role": "system", "content": [marked]}]
    rest = [{"role": "user", "content": "hi"}, {"role": "system", "content": "be quick"}]
    assert ANTHROPIC.split_system([*head, *rest]) == ([{"type": "text", "text": "be brief"}, marked], rest)
    assert ANTHROPIC.split_system(rest) == (None, rest)


def test_only_the_last_four_breakpoints_stay() -> None:
    """The earliest go; messages without them are the same objects (R59)."""
    marked = {"type": "text", "text": "x", "cache_control": {"type": "ephemeral"}}
    history = [_message_of(marked) for _ in range(5)]
    kept = ANTHROPIC.within_limits(history)
    assert kept[0] == _message_of({"type": "text", "text": "x"})
    assert all(one is other for one, other in zip(kept[1:], history[1:], strict=True))
    assert ANTHROPIC.within_limits(history[1:]) == history[1:]


@pytest.mark.parametrize(
    "part",
    [
        Reasoning("hm", is_bound=True),
        Opaque("odd"),
        ToolCall("1", "search", is_hosted=True),
        Media("audio/wav", "AA"),
        Media("image/*", "AA"),
        Media("video/mp4", "https://x", "url"),
    ],
)
def test_what_cannot_be_said_is_listed(part: Part) -> None:
    """Nothing is lost silently, and nothing is sent that the provider refuses."""
    composed = ANTHROPIC.compose("assistant", [part])
    assert composed.payloads == ()
    assert len(composed.lost) == 1


def test_the_system_speaks_in_words() -> None:
    """A picture has no place in a system message."""
    composed = ANTHROPIC.compose("system", [Text("be brief"), Media("image/png", "AA")])
    assert composed.payloads == (_message_of({"type": "text", "text": "be brief"}, role="system"),)
    assert len(composed.lost) == 1


plain_text = st.text(max_size=8)
composed_media = st.builds(
    Media,
    st.sampled_from(["image/png", "image/*", "application/pdf", "audio/wav", "text/plain", "application/*"]),
    st.sampled_from(["AAAA", "https://example.org/a.png", "file-1", "gs://bucket/a"]),
    st.sampled_from(["base64", "url", "file", "text"]),
).filter(lambda media: media.source_type != "base64" or media.source == "AAAA")
composed_results = st.builds(
    ToolResult,
    st.sampled_from(["1", "2"]),
    st.lists(st.one_of(st.builds(Text, plain_text), composed_media, st.just(Opaque("odd"))), max_size=3).map(tuple),
    st.sampled_from([None, "read"]),
    st.booleans(),
)
asking_parts = st.lists(st.one_of(st.builds(Text, plain_text), composed_media, composed_results), max_size=4)
"""What users and tools may say."""
answering_parts = st.lists(
    st.one_of(
        st.builds(Text, plain_text),
        st.builds(Reasoning, plain_text, st.booleans()),
        st.builds(ToolCall, st.just("1"), st.just("read"), st.one_of(st.none(), plain_text, st.just({"a": 1}))),
    ),
    max_size=4,
)
"""What the assistant may say."""
composed_turns = st.one_of(
    st.tuples(st.sampled_from(["user", "tool", "system"]), asking_parts),
    st.tuples(st.just("assistant"), answering_parts),
)


@pytest.fixture(scope="module")
def sdk_message() -> Any:
    """What Anthropic's own types say a message is."""
    types = pytest.importorskip("anthropic.types.beta")
    return pytest.importorskip("pydantic").TypeAdapter(types.BetaMessageParam)


@patient
@given(composed_turns)
def test_composed_messages_are_what_the_sdk_sends(sdk_message: Any, turn: tuple[Any, list[Part]]) -> None:
    """Anthropic's own types accept every composed message, to the innermost block."""
    for payload in ANTHROPIC.compose(*turn).payloads:
        assert _exhausted(sdk_message.validate_python(payload)) == payload


def _exhausted(value: Any) -> Any:
    """Pydantic checks an iterable only while it is walked."""
    if isinstance(value, dict):
        return {key: _exhausted(held) for key, held in value.items()}
    return [_exhausted(item) for item in value] if hasattr(value, "__iter__") and not isinstance(value, str) else value


# --- whole requests


def test_an_unchanged_request_is_the_same_object() -> None:
    """System prompt, tools and unknown fields go out as they came."""
    body = {"model": "m", "system": "s", "messages": [{"role": "user", "content": "hi"}]}
    assert ANTHROPIC.write_request(body, ANTHROPIC.read_request(body)) is body


def test_a_changed_request_keeps_its_other_fields() -> None:
    """Only the messages are exchanged, in a new body."""
    body = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
    (message,) = ANTHROPIC.read_request(body)
    after = ANTHROPIC.write_request(body, [ANTHROPIC.rewrite(message, message.parts[0], "ho")])
    assert after == {"model": "m", "messages": [{"role": "user", "content": "ho"}]}
    assert body["messages"] == [{"role": "user", "content": "hi"}]


# --- real messages


class _Line(msgspec.Struct):
    type: str | None = None
    message: msgspec.Raw = msgspec.Raw(b"")


@needs_corpus
@pytest.mark.parametrize("row", corpus_rows("claude-code"), ids=lambda row: row["path"])
def test_recorded_messages_round_trip(row: dict[str, Any]) -> None:
    """Messages nobody here wrote are recognised, read whole, given back, and changed in one place only."""
    decoder = msgspec.json.Decoder(_Line)
    for line in corpus_path(row).read_bytes().split(b"\n"):
        try:
            record = decoder.decode(line)
        except msgspec.DecodeError:
            continue
        raw = bytes(record.message)
        if record.type in ("user", "assistant") and raw.startswith(b"{") and b'"content"' in raw:
            _check_recorded(raw)


def _check_recorded(raw: bytes) -> None:
    native = json.loads(raw)
    message = ANTHROPIC.read(raw)
    assert ANTHROPIC.write(message) is raw
    assert message.parts == ANTHROPIC.read(native).parts
    if "content" in native:
        assert ANTHROPIC.evidence(native) > 0
    for part in message.results:
        after = ANTHROPIC.rewrite(message, part, "struck")
        block = {**payloads.value_at(native, part.at), "content": "struck"}
        assert json.loads(after.native) == payloads.replace(native, part.at, block)


# --- what the API refuses


def test_server_thinking_without_words_of_a_signature_stays():
    """Servers that speak this format sign with an empty text, and want the block back."""
    block = {"type": "thinking", "thinking": "hm", "signature": ""}
    assert ANTHROPIC.flaws({"role": "assistant", "content": [block, {"type": "text", "text": "ok"}]}) == []


def test_known_fields_agree_with_the_sdk():
    """No field that the SDK's types know is called unknown."""
    types = pytest.importorskip("anthropic.types")
    blocks = {
        "text": types.TextBlockParam,
        "thinking": types.ThinkingBlockParam,
        "tool_use": types.ToolUseBlockParam,
        "tool_result": types.ToolResultBlockParam,
        "image": types.ImageBlockParam,
    }
    for kind, param in blocks.items():
        block = {name: {} for name in param.__annotations__} | {"type": kind, "text": "x", "content": "x", "is_error": False}
        named = {flaw.path[-1] for flaw in ANTHROPIC.flaws({"role": "user", "content": [block]}) if flaw.law == "known_fields"}
        assert named.isdisjoint(param.__annotations__)


def test_picture_of_no_type_is_not_sent():
    """Whatever is given as its type, words take its place."""
    picture = {"type": "image", "source": {"type": "base64", "data": "QUJD", "media_type": ["image/png"]}}
    (flaw,) = ANTHROPIC.flaws({"role": "user", "content": [picture]})
    assert (flaw.law, flaw.replacement["type"]) == ("accepted_media", "text")


@pytest.mark.parametrize(
    ("content", "sent"),
    [
        ({"exit": 0}, "{'exit': 0}"),
        (5, "5"),
        (["a.txt", {"type": "text", "text": "b"}, None], [{"type": "text", "text": "a.txt"}, {"type": "text", "text": "b"}]),
        ([{"type": "image"}], [{"type": "text", "text": "[picture: not shown, the provider does not take it]"}]),
    ],
)
def test_what_a_result_may_not_hold_is_said_in_words(content, sent):
    """An object, a number, bare strings, a picture without a source."""
    call = {"type": "tool_use", "id": "c", "name": "ls", "input": {}}
    history = [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": [call]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", "content": content}]},
    ]
    assert redline.check(history, format="anthropic")
    (result,) = redline.make_legal(history, format="anthropic")[2]["content"]
    assert result["content"] == sent


def test_a_text_document_is_composed_as_one():
    """Its words are the source."""
    composed = ANTHROPIC.compose("user", [Media("text/plain", "all of it", "text")])
    assert composed.payloads[0]["content"] == [
        {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "all of it"}}
    ]


@pytest.mark.parametrize("media_type", [["image/png"], {"a": 1}, None, 3])
def test_a_picture_whose_type_is_no_text_is_a_problem(media_type):
    """It is refused and replaced like any other that the provider does not show, and never an error of Python's own."""
    source = {"type": "base64", "media_type": media_type, "data": "AAAA"}
    history = [{"role": "user", "content": [{"type": "image", "source": source}]}]
    assert redline.check(history, format="anthropic")
    assert redline.check(redline.make_legal(history, format="anthropic"), format="anthropic") == []
