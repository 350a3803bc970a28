"""The OpenAI Responses format reads, writes, changes and recognises its items."""

import copy
import functools
import json
from collections.abc import Iterator
from typing import Any, get_args

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

import redline
from redline.errors import ValidationError
from redline.providers import detect_format
from redline.providers.openai_responses.messages import OpenAIResponses
from redline.values.messages import Media, Message, Opaque, Part, Reasoning, Text, ToolCall, ToolResult
from redline.values.payloads import decode
from tests.corpus import corpus_path, corpus_rows, needs_corpus

RESPONSES = OpenAIResponses()
PNG = Media("image/png", "AAAA")
DATA_URL = "data:image/png;base64,AAAA"

CARRIED = {
    *("item_reference", "compaction", "compaction_trigger", "additional_tools", "configuration_update"),
    *("mcp_list_tools", "mcp_approval_request", "mcp_approval_response"),
}
"""The items that are meant to be opaque."""

SHELL_ACTION = {"type": "exec", "command": ["ls"], "env": {}}
CLICK = {"type": "click", "button": "left", "x": 1, "y": 2}
SEARCH = {"type": "search", "query": "redline"}
PATCH = {"type": "delete_file", "path": "a.py"}
RUN = {"stdout": "out", "stderr": "err", "outcome": {"type": "exit", "exit_code": 0}}
TOOL = {"type": "function", "name": "f", "parameters": {}, "strict": True}

ITEMS: dict[str, tuple[dict[str, Any], str, tuple[Part, ...]]] = {
    "message": (
        {"role": "user", "content": [{"type": "input_text", "text": "hi"}]},
        "user",
        (Text("hi", ("content", 0)),),
    ),
    "reasoning": (
        {"id": "rs_1", "summary": [{"type": "summary_text", "text": "hm"}], "encrypted_content": "gAAA"},
        "assistant",
        (Reasoning("hm", is_bound=True, at=("summary",)),),
    ),
    "function_call": (
        {"call_id": "a", "name": "read", "arguments": '{"path": "a.py"}'},
        "assistant",
        (ToolCall("a", "read", '{"path": "a.py"}', at=("arguments",)),),
    ),
    "function_call_output": (
        {"call_id": "a", "output": "data"},
        "tool",
        (ToolResult("a", (Text("data", ("output",)),), at=("output",)),),
    ),
    "custom_tool_call": (
        {"call_id": "a", "name": "patch", "input": "*** Begin"},
        "assistant",
        (ToolCall("a", "patch", "*** Begin", at=("input",)),),
    ),
    "custom_tool_call_output": (
        {"call_id": "a", "output": [{"type": "input_text", "text": "done"}]},
        "tool",
        (ToolResult("a", (Text("done", ("output", 0)),), at=("output",)),),
    ),
    "computer_call": (
        {"id": "cu_1", "call_id": "a", "action": CLICK, "pending_safety_checks": [], "status": "completed"},
        "assistant",
        (ToolCall("a", "computer", CLICK, at=("action",)),),
    ),
    "computer_call_output": (
        {"call_id": "a", "output": {"type": "computer_screenshot", "image_url": DATA_URL}},
        "tool",
        (ToolResult("a", (Media("image/png", "AAAA", "base64", ("output",)),), at=("output",)),),
    ),
    "local_shell_call": (
        {"id": "ls_1", "call_id": "a", "action": SHELL_ACTION, "status": "completed"},
        "assistant",
        (ToolCall("a", "local_shell", SHELL_ACTION, at=("action",)),),
    ),
    "local_shell_call_output": (
        {"id": "a", "output": "{}"},
        "tool",
        (ToolResult("a", (Text("{}", ("output",)),), at=("output",)),),
    ),
    "shell_call": (
        {"call_id": "a", "action": {"commands": ["ls"]}},
        "assistant",
        (ToolCall("a", "shell", {"commands": ["ls"]}, at=("action",)),),
    ),
    "shell_call_output": (
        {"call_id": "a", "output": [RUN]},
        "tool",
        (ToolResult("a", (Text("out", ("output", 0, "stdout")), Text("err", ("output", 0, "stderr"))), at=("output",)),),
    ),
    "apply_patch_call": (
        {"call_id": "a", "operation": PATCH, "status": "completed"},
        "assistant",
        (ToolCall("a", "apply_patch", PATCH, at=("operation",)),),
    ),
    "apply_patch_call_output": (
        {"call_id": "a", "status": "failed", "output": "no such file"},
        "tool",
        (ToolResult("a", (Text("no such file", ("output",)),), is_error=True, at=("output",)),),
    ),
    "web_search_call": (
        {"id": "ws_1", "action": SEARCH, "status": "completed"},
        "assistant",
        (ToolCall("ws_1", "web_search", SEARCH, is_hosted=True, at=("action",)),),
    ),
    "file_search_call": (
        {"id": "fs_1", "queries": ["q"], "status": "completed", "results": [{"text": "found", "score": 0.5}]},
        "assistant",
        (
            ToolCall("fs_1", "file_search", ["q"], is_hosted=True, at=("queries",)),
            ToolResult("fs_1", (Text("found", ("results", 0)),), "file_search", is_hosted=True, at=("results",)),
        ),
    ),
    "code_interpreter_call": (
        {
            "id": "ci_1",
            "code": "1+1",
            "container_id": "c",
            "status": "completed",
            "outputs": [{"type": "logs", "logs": "2"}, {"type": "image", "url": "https://e.x/plot.png"}],
        },
        "assistant",
        (
            ToolCall("ci_1", "code_interpreter", "1+1", is_hosted=True, at=("code",)),
            ToolResult(
                "ci_1",
                (Text("2", ("outputs", 0)), Media("image/*", "https://e.x/plot.png", "url", ("outputs", 1))),
                "code_interpreter",
                is_hosted=True,
                at=("outputs",),
            ),
        ),
    ),
    "image_generation_call": (
        {"id": "ig_1", "result": "AAAA", "status": "completed", "output_format": "webp", "revised_prompt": "a cat"},
        "assistant",
        (
            ToolCall("ig_1", "image_generation", "a cat", is_hosted=True, at=("revised_prompt",)),
            ToolResult(
                "ig_1",
                (Media("image/webp", "AAAA", "base64", ("result",)),),
                "image_generation",
                is_hosted=True,
                at=("result",),
            ),
        ),
    ),
    "mcp_call": (
        {"id": "mcp_1", "name": "lookup", "arguments": "{}", "server_label": "s", "output": "found"},
        "assistant",
        (
            ToolCall("mcp_1", "lookup", "{}", is_hosted=True, at=("arguments",)),
            ToolResult("mcp_1", (Text("found", ("output",)),), "lookup", is_hosted=True, at=("output",)),
        ),
    ),
    "program": (
        {"id": "pr_1", "call_id": "a", "code": "run()", "fingerprint": "f"},
        "assistant",
        (ToolCall("a", "program", "run()", is_hosted=True, at=("code",)),),
    ),
    "program_output": (
        {"id": "po_1", "call_id": "a", "result": "ran", "status": "completed"},
        "assistant",
        (ToolResult("a", (Text("ran", ("result",)),), is_hosted=True, at=("result",)),),
    ),
    "tool_search_call": (
        {"id": "ts_1", "call_id": None, "execution": "server", "arguments": {"query": "q"}},
        "assistant",
        (ToolCall("ts_1", "tool_search", {"query": "q"}, is_hosted=True, at=("arguments",)),),
    ),
    "tool_search_output": (
        {"call_id": None, "execution": "server", "tools": [TOOL]},
        "assistant",
        (ToolResult(None, (Opaque("tools", [TOOL], ("tools",)),), is_hosted=True, at=("tools",)),),
    ),
    "item_reference": ({"id": "msg_1"}, "assistant", ()),
    "compaction": ({"encrypted_content": "gAAA"}, "assistant", ()),
    "compaction_trigger": ({}, "user", ()),
    "additional_tools": ({"role": "developer", "tools": [TOOL]}, "system", ()),
    "configuration_update": ({"reasoning": {"effort": "low"}}, "system", ()),
    "mcp_list_tools": ({"id": "ml_1", "server_label": "s", "tools": []}, "assistant", ()),
    "mcp_approval_request": ({"id": "ar_1", "name": "f", "arguments": "{}", "server_label": "s"}, "assistant", ()),
    "mcp_approval_response": ({"approval_request_id": "ar_1", "approve": True}, "user", ()),
}
"""A sample of each item type: its fields besides the type, who says it, and its parts (none: carried as it is)."""


def item(kind: str, **fields: Any) -> dict[str, Any]:
    return {"type": kind, **(fields or ITEMS[kind][0])}


# --- reading


@pytest.mark.parametrize("kind", ITEMS)
def test_each_item_type(kind: str) -> None:
    """What each item is, who says it, and where its parts are."""
    native = item(kind)
    _, role, parts = ITEMS[kind]
    message = RESPONSES.read(native)
    assert message.role == role
    assert message.parts == (parts or (Opaque(kind, native, ("type",), is_reference=kind == "item_reference"),))
    assert (not parts) == (kind in CARRIED)


def test_every_item_type_of_the_sdk_is_known() -> None:
    """The samples above are all the item types the installed SDK documents, and each has the SDK's shape."""
    responses = pytest.importorskip("openai.types.responses", reason="the openai SDK is not installed")
    documented = {_literal_type(member) for member in get_args(responses.ResponseInputItemParam)}
    assert documented == set(ITEMS)
    for kind in ITEMS:
        assert _validated(item(kind)) == item(kind)


@pytest.mark.parametrize(
    ("wire", "role"),
    [("user", "user"), ("assistant", "assistant"), ("system", "system"), ("developer", "system"), (["x"], "user")],
)
def test_a_message_needs_no_type(wire: object, role: str) -> None:
    """A role and a string are a message."""
    message = RESPONSES.read({"role": wire, "content": "hi"})
    assert (message.role, message.parts) == (role, (Text("hi", ("content",)),))


@pytest.mark.parametrize(
    ("block", "part"),
    [
        ({"type": "output_text", "text": "x", "annotations": []}, Text("x")),
        ({"type": "refusal", "refusal": "no"}, Text("no")),
        ({"type": "input_image", "image_url": DATA_URL, "detail": "auto"}, Media("image/png", "AAAA")),
        ({"type": "input_image", "image_url": "https://e.x"}, Media("image/*", "https://e.x", "url")),
        ({"type": "input_image", "image_url": None, "file_id": "f"}, Media("image/*", "f", "file")),
        ({"type": "input_file", "file_data": "data:application/pdf;base64,AA"}, Media("application/pdf", "AA")),
        ({"type": "input_file", "file_data": "AA"}, Media("application/*", "AA")),
        ({"type": "input_file", "file_url": "https://e.x"}, Media("application/*", "https://e.x", "url")),
        ({"type": "input_file", "file_id": "f"}, Media("application/*", "f", "file")),
        ({"type": "input_audio", "input_audio": {"data": "AA", "format": "mp3"}}, Media("audio/mp3", "AA")),
        ({"type": "hologram"}, Opaque("hologram", {"type": "hologram"})),
        ({"type": "input_image"}, Opaque("input_image", {"type": "input_image"})),
        (None, Opaque("unknown", None)),
    ],
)
def test_content_parts(block: Any, part: Part) -> None:
    """In a message and in a result alike; unknown ones are carried."""
    said = RESPONSES.read({"role": "user", "content": [block]})
    given_back = RESPONSES.read(item("function_call_output", call_id="a", output=[block]))
    assert said.parts == (msgspec.structs.replace(part, at=("content", 0)),)
    assert given_back.results[0].parts == (msgspec.structs.replace(part, at=("output", 0)),)


@pytest.mark.parametrize(
    ("fields", "parts"),
    [
        ({"summary": []}, [("", False, ("summary",))]),
        ({"id": "rs_1", "summary": []}, [("", True, ("summary",))]),
        ({"summary": [], "encrypted_content": "g"}, [("", True, ("summary",))]),
        ({"summary": [], "content": [{"type": "reasoning_text", "text": "deep"}]}, [("deep", False, ("content",))]),
        (
            {"summary": [{"text": "a"}, {"text": "b"}], "content": [{"text": "deep"}]},
            [("a\nb", False, ("summary",)), ("deep", False, ("content",))],
        ),
        ({"summary": None, "content": None}, [("", False, ("summary",))]),
    ],
)
def test_reasoning(fields: dict[str, Any], parts: list[tuple[str, bool, Any]]) -> None:
    """Summary and thoughts are a part each; an id or sealed content binds them; there is always one."""
    assert RESPONSES.read({"type": "reasoning", **fields}).parts == tuple(Reasoning(*part) for part in parts)


def test_a_client_search_for_tools_pairs() -> None:
    """Where the client is to find the tools, call and output are the client's."""
    call = RESPONSES.read(item("tool_search_call", call_id="a", execution="client", arguments={}))
    output = RESPONSES.read(item("tool_search_output", call_id="a", execution="client", tools=[]))
    assert [part.id for part in call.calls] == [part.call_id for part in output.results] == ["a"]
    assert output.role == "tool"


def test_batched_computer_actions() -> None:
    """A computer call may hold several actions in place of one."""
    message = RESPONSES.read(item("computer_call", call_id="a", actions=[CLICK]))
    assert message.calls == (ToolCall("a", "computer", [CLICK], at=("actions",)),)


@pytest.mark.parametrize(
    ("native", "is_error"),
    [
        (item("function_call_output", call_id="a", output="Error: no"), True),
        (item("function_call_output", call_id="a", output=[{"type": "input_text", "text": " Error: no"}]), True),
        (item("function_call_output", call_id="a", output="no", messageStatus="error"), True),
        (item("function_call_output", call_id="a", output="no Error: here"), False),
        (item("shell_call_output", call_id="a", output=[RUN]), False),
        (item("shell_call_output", call_id="a", output=[{**RUN, "outcome": {"type": "exit", "exit_code": 2}}]), True),
        (item("shell_call_output", call_id="a", output=[{**RUN, "outcome": {"type": "timeout"}}]), True),
        (item("apply_patch_call_output", call_id="a", status="completed"), False),
        (item("apply_patch_call_output", call_id="a", status="failed"), True),
    ],
)
def test_failures(native: dict[str, Any], is_error: bool) -> None:
    """By status or outcome where the item has one, else by the first word."""
    assert RESPONSES.read(native).results[0].is_error is is_error


@pytest.mark.parametrize("error", ["refused", {"type": "http_error", "code": 500, "message": "x"}])
def test_a_failed_hosted_call(error: Any) -> None:
    """The provider's complaint is its result."""
    native = item("mcp_call", id="m", name="f", arguments="{}", server_label="s", output=None, error=error)
    [_, result] = RESPONSES.read(native).parts
    assert isinstance(result, ToolResult)
    assert (result.is_error, result.is_hosted, len(result.parts)) == (True, True, 1)


def test_a_hosted_call_without_a_result() -> None:
    """It has none to show, and needs no answer."""
    message = RESPONSES.read(item("code_interpreter_call", id="c", code=None, container_id="x", outputs=None))
    assert message.parts == (ToolCall("c", "code_interpreter", None, is_hosted=True, at=("code",)),)
    assert message.calls == ()


def test_messages_between_agents() -> None:
    """Codex's `agent_message` is said to this agent; its sealed part is carried."""
    content = [{"type": "input_text", "text": "go"}, {"type": "encrypted_content", "encrypted_content": "g"}]
    message = RESPONSES.read({"type": "agent_message", "author": "/root/a", "recipient": "/root", "content": content})
    assert message.role == "user"
    assert [type(part) for part in message.parts] == [Text, Opaque]


@pytest.mark.parametrize("role", ["user", "assistant", "nobody"])
def test_a_call_is_the_models_whatever_role_is_beside_it(role: str) -> None:
    """An item says what it is by its type: a call without a result is dropped, not taken for what the user said."""
    call = {"type": "function_call", "name": "Read", "arguments": "{}", "role": role}
    assert RESPONSES.read(call).role == "assistant"
    assert redline.make_legal([{"role": "user", "content": "Go on"}, call]) == [{"role": "user", "content": "Go on"}]


@pytest.mark.parametrize(
    ("native", "role", "kind"),
    [
        ({"type": "telepathy_call", "call_id": "a"}, "assistant", "telepathy_call"),
        ({"type": "telepathy_call_output", "call_id": "a"}, "tool", "telepathy_call_output"),
        ({"type": "notice", "role": "developer"}, "system", "notice"),
        ({"id": "msg_1", "type": None}, "assistant", "item_reference"),
        ({"id": "msg_1"}, "assistant", "item_reference"),
        ({"type": 5}, "assistant", "unknown"),
    ],
)
def test_unknown_items_are_carried(native: dict[str, Any], role: str, kind: str) -> None:
    """As one opaque part, said by whom their shape suggests; a bare id is a reference."""
    message = RESPONSES.read(native)
    carried = Opaque(kind, native, ("type",), is_reference=kind == "item_reference")
    assert (message.role, message.parts) == (role, (carried,))


# --- rewriting and removing


def test_rewrite_changes_one_value_in_bytes() -> None:
    """Around the changed value every byte stays: duplicate keys, number spelling, spacing."""
    head = b'{ "type":"function_call_output","n":1.50E0, "n":1e2,"call_id":"a" ,"output":'
    payload = head + b'[{"type":"input_text", "text":"x"}] }'
    message = RESPONSES.read(payload)
    [result] = message.results
    assert RESPONSES.rewrite(message, result.parts[0], "y").native == payload.replace(b'"x"', b'"y"')
    whole = RESPONSES.rewrite(message, result, "y").native
    assert whole == head + b'"y" }'


@pytest.mark.parametrize(
    ("kind", "key", "value"),
    [
        ("function_call", "arguments", '{"n":1}'),
        ("custom_tool_call", "input", '{"n":1}'),
        ("mcp_call", "arguments", '{"n":1}'),
        ("computer_call", "action", {"n": 1}),
        ("local_shell_call", "action", {"n": 1}),
        ("shell_call", "action", {"n": 1}),
        ("apply_patch_call", "operation", {"n": 1}),
        ("tool_search_call", "arguments", {"n": 1}),
    ],
)
def test_rewrite_a_call(kind: str, key: str, value: Any) -> None:
    """The new input is JSON text where the wire has text, else an object."""
    message = RESPONSES.read(item(kind))
    after = RESPONSES.rewrite(message, message.parts[0], {"n": 1})
    assert after.native == {**item(kind), key: value}


@pytest.mark.parametrize(
    ("kind", "key", "value"),
    [
        ("function_call_output", "output", "new"),
        ("custom_tool_call_output", "output", "new"),
        ("local_shell_call_output", "output", "new"),
        ("apply_patch_call_output", "output", "new"),
        ("shell_call_output", "output", [{"stdout": "new", "stderr": "", "outcome": RUN["outcome"]}]),
        ("program_output", "result", "new"),
        ("mcp_call", "output", "new"),
        ("code_interpreter_call", "outputs", [{"type": "logs", "logs": "new"}]),
        ("file_search_call", "results", [{"text": "new"}]),
    ],
)
def test_rewrite_a_result(kind: str, key: str, value: Any) -> None:
    """The words take the shape that the item's result has, and the SDK's types take the item."""
    message = RESPONSES.read(item(kind))
    after = RESPONSES.rewrite(message, message.parts[-1], "new")
    assert after.native == {**item(kind), key: value}
    pytest.importorskip("openai", reason="the openai SDK is not installed")
    assert _validated(after.native) == after.native


@pytest.mark.parametrize("kind", ["computer_call_output", "tool_search_output", "image_generation_call", *sorted(CARRIED)])
def test_what_has_no_place_for_words_says_so(kind: str) -> None:
    """A screenshot, a list of tools or a reference cannot become a text in its place."""
    message = RESPONSES.read(item(kind))
    with pytest.raises(ValidationError, match=f"{kind}' has no place for words there; remove the item"):
        RESPONSES.rewrite(message, message.parts[-1], "words")


@pytest.mark.parametrize(
    ("native", "block"),
    [
        ({"role": "user", "content": [{"type": "input_image", "file_id": "f"}]}, {"type": "input_text", "text": "new"}),
        (
            {"role": "assistant", "content": [{"type": "hologram"}]},
            {"type": "output_text", "text": "new", "annotations": []},
        ),
        (
            {"type": "function_call_output", "call_id": "a", "output": [{"type": "input_image", "file_id": "f"}]},
            {"type": "input_text", "text": "new"},
        ),
        (
            {"type": "code_interpreter_call", "id": "c", "outputs": [{"type": "image", "url": "https://e.x"}]},
            {"type": "logs", "logs": "new"},
        ),
    ],
)
def test_rewrite_a_picture(native: dict[str, Any], block: dict[str, Any]) -> None:
    """It becomes the kind of text that may be in its place."""
    message = RESPONSES.read(native)
    [part] = [part for part in message.walk() if isinstance(part, Media | Opaque)]
    after = RESPONSES.rewrite(message, part, "new")
    assert [block] in after.native.values()


def test_rewrite_reasoning() -> None:
    """Summary and thoughts each in the list they were read from."""
    native = item("reasoning", summary=[{"type": "summary_text", "text": "a"}], content=[{"text": "b"}])
    message = RESPONSES.read(native)
    summary, thoughts = message.parts
    assert RESPONSES.rewrite(message, summary, "x").native == {
        **native,
        "summary": [{"type": "summary_text", "text": "x"}],
    }
    assert RESPONSES.rewrite(message, thoughts, "x").native == {
        **native,
        "content": [{"type": "reasoning_text", "text": "x"}],
    }


@pytest.mark.parametrize("kind", ["function_call", "function_call_output", "file_search_call", "mcp_call", "compaction"])
def test_an_item_goes_whole(kind: str) -> None:
    """Without its call, its result or its content an item is nothing the provider would take."""
    message = RESPONSES.read(item(kind))
    for part in message.parts:
        assert RESPONSES.remove(message, [part]) is None


def test_a_message_loses_one_part() -> None:
    """The other parts stay the same objects."""
    blocks = [{"type": "input_text", "text": "a"}, {"type": "input_text", "text": "b"}]
    message = RESPONSES.read({"role": "user", "content": blocks})
    after = RESPONSES.remove(message, message.parts[:1])
    assert after is not None
    assert after.native == {"role": "user", "content": blocks[1:]}
    assert after.native["content"][0] is blocks[1]


def test_required_fields_survive_a_removal() -> None:
    """A reasoning item keeps its summary, a result its output, a shell run its two streams."""
    thought = RESPONSES.read(item("reasoning", summary=[{"text": "a"}], content=[{"text": "b"}]))
    result = RESPONSES.read(item("function_call_output", call_id="a", output=[{"type": "input_text", "text": "x"}]))
    shell = RESPONSES.read(item("shell_call_output"))
    for message, part, key, value in (
        (thought, thought.parts[0], "summary", []),
        (result, result.results[0].parts[0], "output", ""),
        (shell, shell.results[0].parts[1], "output", [{**RUN, "stderr": ""}]),
    ):
        after = RESPONSES.remove(message, [part])
        assert after is not None
        assert after.native == {**message.native, key: value}


# --- whole requests


def test_a_plain_string_is_one_user_message() -> None:
    """`input` may be a string; unchanged, the body is the same object, and changed, a list."""
    body = {"model": "m", "input": "hi", "instructions": "be brief"}
    [message] = messages = RESPONSES.read_request(body)
    assert (message.role, message.text) == ("user", "hi")
    assert RESPONSES.write_request(body, messages) is body
    changed = RESPONSES.rewrite(message, message.parts[0], "hello")
    assert RESPONSES.write_request(body, [changed]) == {**body, "input": [{"role": "user", "content": "hello"}]}
    assert RESPONSES.write_request(body, []) == {**body, "input": []}


def test_a_list_of_items_is_kept() -> None:
    """An unchanged body is the same object; nothing, or null, holds no message."""
    body = {"input": [item("message"), item("function_call")]}
    assert RESPONSES.write_request(body, RESPONSES.read_request(body)) is body
    assert RESPONSES.read_request({}) == RESPONSES.read_request({"input": None}) == ()


# --- recognising


@pytest.mark.parametrize("kind", sorted(ITEMS))
def test_item_types_are_certain(kind: str) -> None:
    """No other format has them."""
    assert RESPONSES.evidence(item(kind)) == 2


@pytest.mark.parametrize(
    ("native", "evidence"),
    [
        ({"role": "user", "content": "hi"}, 1),
        ({"type": "message", "role": "user", "content": "hi"}, 1),
        ({"role": "user", "content": []}, 1),
        ({"role": "assistant", "content": [{"type": "refusal", "refusal": "no"}]}, 1),
        ({"role": "assistant", "content": [{"type": "output_text", "text": "x"}]}, 2),
        ({"id": "msg_1"}, 2),
        ({"type": "telepathy_call", "call_id": "a"}, 1),
        ({"type": "telepathy_call_output", "call_id": "a"}, 1),
        ({"type": "config"}, 0),
        ({"type": "snapshot", "messageId": "a"}, 0),
        ({"role": "tool", "tool_call_id": "a", "content": "x"}, 0),
        ({"role": "assistant", "content": "", "tool_calls": []}, 0),
        ({"role": "assistant", "content": None}, 0),
        ({"role": "user", "content": [{"type": "text", "text": "hi"}]}, 0),
        ({"type": "message", "role": "assistant", "content": [{"type": "tool_use", "id": "a"}]}, 0),
        ({"role": "assistant", "content": [{"type": "tool-call", "toolCallId": "a"}]}, 0),
        ({"role": "user", "parts": [{"text": "hi"}]}, 0),
        ({"role": ["user"], "content": "hi"}, 0),
        ({}, 0),
    ],
)
def test_evidence(native: dict[str, Any], evidence: int) -> None:
    """Item and part types make it certain; a plain message could be another's; other providers' shapes rule it out."""
    assert RESPONSES.evidence(native) == evidence


def test_a_list_with_items_is_recognised() -> None:
    """One item settles it for the whole list."""
    assert detect_format([{"role": "user", "content": "hi"}, item("function_call")]).name == "openai_responses"


# --- composing


def test_compose_what_the_assistant_does() -> None:
    """A message, a call and a result are an item each, in their order."""
    parts = [Text("look"), ToolCall("a", "read", {"p": 1}), ToolResult("a", (Text("x"),)), Text("so")]
    assert RESPONSES.compose("assistant", parts).payloads == (
        {"type": "message", "role": "assistant", "content": "look"},
        {"type": "function_call", "call_id": "a", "name": "read", "arguments": '{"p":1}'},
        {"type": "function_call_output", "call_id": "a", "output": "x"},
        {"type": "message", "role": "assistant", "content": "so"},
    )


def test_compose_results_before_words() -> None:
    """Results come first, then what the user says; a failure is told in words."""
    parts = [Text("and?"), PNG, ToolResult("a", (Text("no"),), is_error=True)]
    assert RESPONSES.compose("user", parts).payloads == (
        {"type": "function_call_output", "call_id": "a", "output": "Error: no"},
        {
            "type": "message",
            "role": "user",
            "content": [
                {"type": "input_text", "text": "and?"},
                {"type": "input_image", "detail": "auto", "image_url": DATA_URL},
            ],
        },
    )


def test_compose_a_picture_in_a_result() -> None:
    """It is between the words as it was, with the failure in front."""
    parts = (Text("page 1"), PNG, Text("page 2"))
    [native] = RESPONSES.compose("tool", [ToolResult("a", parts, is_error=True)]).payloads
    assert [block.get("text", "picture") for block in native["output"]] == ["Error:", "page 1", "picture", "page 2"]
    assert RESPONSES.read(native).results[0].is_error


@pytest.mark.parametrize(
    ("media", "block"),
    [
        (Media("image/*", "https://e.x", "url"), {"type": "input_image", "detail": "auto", "image_url": "https://e.x"}),
        (Media("image/*", "f", "file"), {"type": "input_image", "detail": "auto", "file_id": "f"}),
        (Media("application/*", "f", "file"), {"type": "input_file", "file_id": "f"}),
        (Media("application/pdf", "https://e.x", "url"), {"type": "input_file", "file_url": "https://e.x"}),
        (
            Media("application/pdf", "AA"),
            {"type": "input_file", "file_data": "data:application/pdf;base64,AA", "filename": "file.pdf"},
        ),
    ],
)
def test_compose_media(media: Media, block: dict[str, Any]) -> None:
    """Each kind in the content part there is for it."""
    assert RESPONSES.compose("user", [media]).payloads == ({"type": "message", "role": "user", "content": [block]},)


@pytest.mark.parametrize(
    ("role", "part", "words"),
    [
        ("assistant", Reasoning("hm", is_bound=True), "signed reasoning"),
        ("assistant", ToolCall("a", "search", is_hosted=True), "that the provider itself ran"),
        ("assistant", PNG, "Media"),
        ("user", Media("audio/wav", "AA"), "Media"),
        ("user", Media("image/*", "AA"), "Media"),
        ("user", Opaque("hologram"), "'hologram'"),
        ("user", ToolCall("a", "dial"), "call of 'dial': in openai_responses only the assistant calls tools"),
    ],
)
def test_what_cannot_be_said_is_listed(role: Any, part: Part, words: str) -> None:
    """Nothing is lost silently, and nothing else is made of it."""
    composed = RESPONSES.compose(role, [part])
    assert composed.payloads == ()
    assert len(composed.lost) == 1
    assert words in composed.lost[0]


def test_missing_ids_are_made_from_names() -> None:
    """The nth call of a tool and its nth result get the same id, though they are composed apart."""
    asked = RESPONSES.compose("assistant", [ToolCall(None, "read", {}), ToolCall(None, "read", {})]).payloads
    answers = RESPONSES.compose("tool", [ToolResult(None, (), "read"), ToolResult(None, (), "read")]).payloads
    assert [call["call_id"] for call in asked] == ["call_read", "call_read_2"]
    assert [answer["call_id"] for answer in answers] == ["call_read", "call_read_2"]


inside_results = st.one_of(
    st.builds(Text, st.text()),
    st.builds(
        Media,
        st.sampled_from(["image/png", "image/*", "audio/wav", "application/pdf"]),
        st.text(min_size=1),
        st.sampled_from(["base64", "url", "file", "text"]),
    ),
    st.builds(Opaque, st.text(min_size=1)),
)
ids = st.none() | st.text(min_size=1)
inputs = st.none() | st.text() | st.dictionaries(st.text(), st.integers())
neutral_parts = st.one_of(
    inside_results,
    st.builds(Reasoning, st.text(), st.booleans()),
    st.builds(ToolCall, ids, st.text(min_size=1), inputs, st.booleans()),
    st.builds(ToolResult, ids, st.lists(inside_results, max_size=3).map(tuple), ids, st.booleans(), st.booleans()),
)


@given(st.sampled_from(["system", "user", "assistant", "tool"]), st.lists(neutral_parts, max_size=6))
def test_composed_items_are_what_the_sdk_takes(role: Any, parts: list[Part]) -> None:
    """Whatever is composed has the SDK's types, with no key it does not know, and reads back without loss."""
    pytest.importorskip("openai", reason="the openai SDK is not installed")
    for payload in RESPONSES.compose(role, parts).payloads:
        assert _validated(payload) == payload
        assert RESPONSES.evidence(payload) > 0
        assert not any(isinstance(part, Opaque) for part in RESPONSES.read(payload).walk())


# --- properties over any payload

words = st.text(st.characters(exclude_categories=()), max_size=8)
numbers = st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False)
anything = st.recursive(
    st.none() | st.booleans() | numbers | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=6,
)
blocks = st.one_of(
    st.fixed_dictionaries(
        {"type": st.sampled_from(["input_text", "output_text", "reasoning_text"]), "text": words},
        optional={"annotations": anything},
    ),
    st.fixed_dictionaries({"type": st.just("refusal"), "refusal": words}),
    st.fixed_dictionaries({"type": st.just("logs"), "logs": words}),
    st.fixed_dictionaries(
        {"type": st.just("input_image")}, optional={"image_url": st.just(DATA_URL) | anything, "file_id": words}
    ),
    st.fixed_dictionaries({"stdout": words, "stderr": words}, optional={"outcome": st.just({"type": "timeout"}) | anything}),
    anything,
)
contents = st.lists(blocks, max_size=3) | words | anything
CONTENT_KEYS = ("content", "output", "outputs", "results", "summary")
VALUE_KEYS = (
    *("arguments", "input", "action", "operation", "code", "queries", "result", "error", "status"),
    *("call_id", "id", "name", "encrypted_content", "tools", "execution"),
)
items = st.builds(
    lambda kind, said, held, unknown: {**unknown, **held, **said, **kind},
    st.fixed_dictionaries({}, optional={"type": st.sampled_from(sorted(ITEMS)) | anything, "role": words}),
    st.fixed_dictionaries({}, optional=dict.fromkeys(CONTENT_KEYS, contents)),
    st.fixed_dictionaries({}, optional=dict.fromkeys(VALUE_KEYS, words | anything)),
    st.dictionaries(words.map(lambda key: f"x-{key}"), anything, max_size=2),
)


@given(items)
def test_what_was_read_is_written_as_it_was(native: dict[str, Any]) -> None:
    """An object comes back as the very object, unchanged; bytes as the very bytes, with the same meaning."""
    before = copy.deepcopy(native)
    message = RESPONSES.read(native)
    assert RESPONSES.write(message) is native
    assert native == before
    payload = json.dumps(native, indent=1).encode()
    from_bytes = RESPONSES.read(payload)
    assert RESPONSES.write(from_bytes) is payload
    assert (from_bytes.role, len(from_bytes.parts)) == (message.role, len(message.parts))


@given(items, words.filter(bool))
def test_rewrite_changes_only_the_part_it_names(native: dict[str, Any], replacement: str) -> None:
    """The part says the replacement, every other leaf is as before, and the input is untouched."""
    before = copy.deepcopy(native)
    message = RESPONSES.read(native)
    for part in message.walk():
        after = _rewritten(message, part, replacement)
        if after is None:
            assert isinstance(part, ToolResult | Media | Opaque)
            continue
        assert all(path[: len(part.at)] == part.at for path in _changed(native, after.native))
        assert _says(after, part, replacement)
    assert native == before


@given(items, words.filter(bool))
def test_rewriting_bytes_means_the_same_as_rewriting_the_object(native: dict[str, Any], replacement: str) -> None:
    """Whether the payload is held as an object or as bytes, the change is the same."""
    in_bytes, message = RESPONSES.read(json.dumps(native).encode()), RESPONSES.read(native)
    for byte_part, part in zip(in_bytes.walk(), message.walk(), strict=True):
        after, expected = _rewritten(in_bytes, byte_part, replacement), _rewritten(message, part, replacement)
        assert (after and decode(after.native)) == (expected and expected.native)


@given(items, st.data())
def test_remove_takes_the_named_parts_and_no_others(native: dict[str, Any], data: st.DataObject) -> None:
    """A message or a thought keeps its other parts in order; any other item goes whole."""
    message = RESPONSES.read(native)
    gone = [part for part in message.parts if data.draw(st.booleans())]
    left = [part for part in message.parts if all(part is not other for other in gone)]
    after = RESPONSES.remove(message, gone)
    is_divisible = native.get("type") in (None, "message", "agent_message", "reasoning")
    if not left or (gone and not is_divisible):
        assert after is None
        return
    assert after is not None
    assert [_without_place(part) for part in after.parts] == [_without_place(part) for part in left]


@given(st.dictionaries(words | st.sampled_from(["role", "content", "type", "call_id", "output"]), anything))
def test_any_object_can_be_read_and_weighed(native: dict[str, Any]) -> None:
    """No object, however odd, makes reading or recognising fail."""
    RESPONSES.read(native)
    assert RESPONSES.evidence(native) in (0, 1, 2)


# --- recorded sessions


class _Line(msgspec.Struct):
    type: str
    payload: msgspec.Raw


@needs_corpus
@pytest.mark.corpus
@pytest.mark.parametrize("row", corpus_rows("codex"), ids=lambda row: row["path"])
def test_recorded_sessions_are_read_whole(row: dict[str, Any]) -> None:
    """Every item of a Codex session is recognised and written back byte for byte; only what is sealed is opaque."""
    lines = [msgspec.json.decode(line, type=_Line) for line in corpus_path(row).read_bytes().splitlines()]
    payloads = [bytes(line.payload) for line in lines if line.type == "response_item"]
    for line in lines:
        if line.type == "compacted":
            payloads += [json.dumps(entry).encode() for entry in json.loads(bytes(line.payload))["replacement_history"]]
    assert detect_format(payloads).name == "openai_responses"
    messages = [RESPONSES.read(payload) for payload in payloads]
    assert [RESPONSES.write(message) for message in messages] == payloads
    opaque = {part.kind for message in messages for part in message.walk() if isinstance(part, Opaque)}
    assert opaque <= {"compaction", "encrypted_content"}
    assert sum(isinstance(part, ToolCall) for message in messages for part in message.parts) == row["n_tool_calls"]
    assert sum(len(message.results) for message in messages) == row["n_tool_results"]


# --- how the tests look at payloads


def _literal_type(member: Any) -> str:
    """The one value the field `type` may have, null aside."""
    from typing_extensions import get_type_hints

    hint = get_type_hints(member)["type"]
    [kind] = {value for inner in (hint, *get_args(hint)) for value in get_args(inner) if isinstance(value, str)}
    return str(kind)


def _validated(payload: dict[str, Any]) -> Any:
    """The payload after the SDK's own types looked at it, unknown keys left out."""
    return _plain(_item_adapter().validate_python(payload))


@functools.cache
def _item_adapter() -> Any:
    import pydantic
    from openai.types.responses import ResponseInputItemParam

    return pydantic.TypeAdapter(ResponseInputItemParam)


def _plain(value: Any) -> Any:
    """Iterables are validated only when they are walked through."""
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    return [_plain(inner) for inner in value] if hasattr(value, "__iter__") and not isinstance(value, str) else value


def _rewritten(message: Message, part: Part, replacement: str) -> Message | None:
    try:
        return RESPONSES.rewrite(message, part, {"n": replacement} if isinstance(part, ToolCall) else replacement)
    except ValidationError:
        return None


def _says(message: Message, like: Part, replacement: str) -> bool:
    """Whether what is now in the place of a part says the replacement; of a result, the provider's complaint aside."""
    [found] = [part for part in message.walk() if part.at == like.at and _is_result(part) == _is_result(like)]
    match found:
        case ToolCall():
            return found.arguments == {"n": replacement}
        case ToolResult():
            said = [part.text for part in found.parts if isinstance(part, Text) and part.at != ("error",)]
            return said == [replacement]
        case _:
            return found.text == replacement


def _is_result(part: Part) -> bool:
    """A result and its only text may share a place."""
    return isinstance(part, ToolResult)


def _changed(before: Any, after: Any) -> list[tuple[Any, ...]]:
    old, new = dict(_leaves(before)), dict(_leaves(after))
    return [path for path in {*old, *new} if path not in old or path not in new or old[path] != new[path]]


def _leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    yield path, value if not isinstance(value, dict | list) else type(value)
    for key, held in inner:
        yield from _leaves(held, (*path, key))


def _without_place(part: Any) -> Any:
    return (type(part), *(getattr(part, name) for name in part.__struct_fields__ if name not in ("at", "parts")))
