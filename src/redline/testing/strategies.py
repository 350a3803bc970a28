"""Hypothesis strategies: legal conversations in every format, hostile lists of messages, and any JSON value."""

from typing import Any

from redline.errors import MissingExtraError
from redline.formats import find_format
from redline.testing.builders import Turn, conversation, says
from redline.values.messages import Media, Text, ToolCall, ToolResult

try:
    from hypothesis import strategies as st
except ImportError as problem:
    raise MissingExtraError("Generating conversations", "testing") from problem

__all__ = ["conversations", "hostile_messages", "json_values", "turns"]

_PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNgYGBgAAAABQABh6FO1AAAAABJRU5ErkJggg=="


def json_values() -> st.SearchStrategy[Any]:
    """Any JSON value, numbers beyond 64 bits and lone surrogates among them."""
    text = st.text(st.characters(codec=None), max_size=12)
    plain = st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False) | text
    return st.recursive(
        plain, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(text, inner, max_size=3), max_leaves=8
    )


def turns(*, max_steps: int = 6) -> st.SearchStrategy[list[Turn]]:
    """A legal conversation: the user speaks first, every call is answered in the turn after it."""
    words = st.text(st.characters(codec="utf-8"), min_size=1, max_size=12).map(str.strip).filter(bool)
    arguments = st.dictionaries(st.sampled_from(["path", "command", "n", "q"]), words | st.integers(-9, 9), max_size=3)
    picture = st.just(Media("image/png", _PIXEL))

    @st.composite
    def step(draw: st.DrawFn, number: int) -> list[Turn]:
        if draw(st.booleans()):
            extra = draw(st.lists(picture, max_size=1))
            return [("user", (Text(draw(words)), *extra)), says("assistant", draw(words))]
        names = draw(st.lists(st.sampled_from(["read", "bash", "grep"]), min_size=1, max_size=3))
        calls = [ToolCall(f"call_{number}_{place}", name, draw(arguments)) for place, name in enumerate(names)]
        results = [
            ToolResult(call.id, (Text(draw(words)),), call.name, draw(st.booleans())) for call in draw(st.permutations(calls))
        ]
        said = draw(st.lists(words.map(Text), max_size=1))
        return [("assistant", (*said, *calls)), ("tool", tuple(results))]

    @st.composite
    def whole(draw: st.DrawFn) -> list[Turn]:
        said = [says("user", draw(words))]
        for number in range(draw(st.integers(0, max_steps))):
            following = draw(step(number))
            if said[-1][0] == following[0][0] == "assistant":  # calls follow the user, or other calls
                said.append(says("user", draw(words)))
            said += following
        return said

    return whole()


def conversations(format: str, *, max_steps: int = 6, with_extras: bool = True) -> st.SearchStrategy[list[Any]]:
    """Legal native messages of a format; with extras, one of them has a field that no format knows.

    It is in the first block where the provider refuses it beside the role.
    """
    chosen = find_format(format)

    @st.composite
    def native(draw: st.DrawFn) -> list[Any]:
        payloads = conversation(format, draw(turns(max_steps=max_steps)))
        if with_extras:
            place = draw(st.integers(0, len(payloads) - 1))
            payload, extra = payloads[place], {"x_meta": draw(json_values())}
            payloads[place] = {**payload, **extra}
            if chosen.flaws(payloads[place]):
                first, *others = payload[str(chosen.blocks_field)]
                payloads[place] = {**payload, str(chosen.blocks_field): [{**first, **extra}, *others]}
            if chosen.flaws(payloads[place]):  # of Gemini, whose parts take notes of the caller's under this name
                payloads[place] = {**payload, str(chosen.blocks_field): [{**first, "partMetadata": extra}, *others]}
        return payloads

    return native()


_IDS = ("a", "b", "a", "", None, 7, "x" * 70, "odd id!")
_NAMES = ("read", "bash", "", None, 7, "n" * 300, "mcp server/tool")
_WORDS = ("hi", "", " ", "\n\n", "Error: no", None, 7)


def hostile_messages(format: str, *, max_size: int = 8) -> st.SearchStrategy[list[Any]]:
    """Lists of messages as broken programs leave them: any role, any field, ids that are missing, shared or no text."""
    ids, names, words = st.sampled_from(_IDS), st.sampled_from(_NAMES), st.sampled_from(_WORDS)
    inputs: st.SearchStrategy[Any] = st.sampled_from([{}, {"path": "a.py"}, "{}", "{torn", "", None, 7, []])
    picture = st.sampled_from(
        [
            {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{_PIXEL}"}},
            {"type": "image", "source": {"type": "base64", "media_type": "image/tiff", "data": _PIXEL}},
            {"type": "input_image", "image_url": "https://example.org/a.png"},
            {"inlineData": {"mimeType": "image/png", "data": _PIXEL}},
        ]
    )
    text = st.builds(
        lambda kind, said: {"type": kind, "text": said}, st.sampled_from(["text", "input_text", "output_text"]), words
    )
    inner = text | picture | words | json_values()
    blocks = st.one_of(
        inner,
        st.builds(lambda own, name, held: {"type": "tool_use", "id": own, "name": name, "input": held}, ids, names, inputs),
        st.builds(
            lambda own, held, failed: {"type": "tool_result", "tool_use_id": own, "content": held, "is_error": failed},
            *(ids, words | st.lists(inner, max_size=2), st.sampled_from([True, False, None])),
        ),
        st.builds(
            lambda own, name, held: {"type": "tool-call", "toolCallId": own, "toolName": name, "input": held},
            ids,
            names,
            inputs,
        ),
        st.builds(
            lambda own, name, said: {
                "type": "tool-result",
                "toolCallId": own,
                "toolName": name,
                "output": {"type": "text", "value": said},
            },
            *(ids, names, words),
        ),
        st.sampled_from(
            [
                {"type": "thinking", "thinking": "hm", "signature": "s"},
                {"type": "thinking", "thinking": "hm"},
                {"type": "redacted_thinking", "data": "x"},
                {"type": "reasoning", "text": "hm"},
                {"type": "server_tool_use", "id": "srv", "name": "web_search", "input": {}},
                {"type": "web_search_tool_result", "tool_use_id": "srv", "content": []},
                {"text": "hm", "thought": True, "thoughtSignature": "s"},
            ]
        ),
        st.builds(lambda said, more: {"text": said, **more}, words, st.sampled_from([{}, {"note": 1}, {"thought": True}])),
        st.builds(lambda own, name, held: {"functionCall": {"id": own, "name": name, "args": held}}, ids, names, inputs),
        st.builds(
            lambda own, name, held, more: {"functionResponse": {"id": own, "name": name, "response": held}, **more},
            *(ids, names, inputs, st.sampled_from([{}, {"text": "and?"}])),
        ),
    )
    function = st.builds(lambda name, held: {"name": name, "arguments": held}, names, inputs)
    calls = st.lists(
        st.builds(lambda own, called: {"id": own, "type": "function", "function": called}, ids, function)
        | st.builds(lambda own, name: {"id": own, "type": "custom", "custom": {"name": name, "input": "x"}}, ids, names)
        | json_values(),
        max_size=3,
    )
    held = words | st.lists(blocks, max_size=3) | json_values()
    said = st.fixed_dictionaries(
        {
            "role": st.sampled_from(
                ["user", "assistant", "tool", "system", "developer", "function", "model", "assistent", None, 7]
            )
        },
        optional={
            "content": held,
            "parts": st.lists(blocks, max_size=3) | json_values(),
            "tool_calls": calls | words,
            "tool_call_id": ids,
            "function_call": function | words,
            "name": names,
            "reasoning_content": words,
            "refusal": words,
            "messageStatus": st.just("error"),
            "timestamp": st.sampled_from([0, 5, "5", None]),
        },
    )
    items = st.one_of(
        st.builds(
            lambda own, call, name, given: {
                "type": "function_call",
                "id": own,
                "call_id": call,
                "name": name,
                "arguments": given,
            },
            *(st.sampled_from(["fc_1", "x", None]), ids, names, inputs),
        ),
        st.builds(lambda call, given: {"type": "function_call_output", "call_id": call, "output": given}, ids, held),
        st.builds(lambda own: {"type": "reasoning", "id": own, "summary": []}, st.sampled_from(["rs_1", "x", None])),
        st.builds(
            lambda own, given: {"type": "message", "role": "assistant", "id": own, "content": given},
            *(st.sampled_from(["msg_1", "x"]), held),
        ),
        st.sampled_from([{"type": "web_search_call", "id": "ws_1"}, {"id": "rs_1"}, {"type": "invented_call"}, {}]),
    )
    return st.lists(said | items if find_format(format).items_are_messages else said, max_size=max_size)
