"""Hypothesis strategies: legal conversations in every format, hostile lists of messages, and any JSON value."""

from typing import Any

from redline.errors import MissingExtraError
from redline.providers import find_format
from redline.testing.builders import Turn, conversation, says
from redline.values.messages import Media, Text, ToolCall, ToolResult

try:
    from hypothesis import strategies as st
except ImportError as problem:
    raise MissingExtraError("Generating conversations", "testing") from problem

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


_Strategy = st.SearchStrategy[Any]


def _objects(**fields: Any) -> _Strategy:
    """Objects with these fields, each a strategy or a fixed value."""
    made = {name: held if isinstance(held, st.SearchStrategy) else st.just(held) for name, held in fields.items()}
    return st.fixed_dictionaries(made)


_IDS: _Strategy = st.sampled_from(("a", "b", "a", "", None, 7, "x" * 70, "odd id!"))
_NAMES: _Strategy = st.sampled_from(("read", "bash", "", None, 7, "n" * 300, "mcp server/tool"))
_WORDS: _Strategy = st.sampled_from(("hi", "", " ", "\n\n", "Error: no", None, 7))
_INPUTS: _Strategy = st.sampled_from([{}, {"path": "a.py"}, "{}", "{torn", "", None, 7, []])
_ROLES = ("user", "assistant", "tool", "system", "developer", "function", "model", "assistent", None, 7)
_PICTURES: _Strategy = st.sampled_from(
    [
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{_PIXEL}"}},
        {"type": "image", "source": {"type": "base64", "media_type": "image/tiff", "data": _PIXEL}},
        {"type": "input_image", "image_url": "https://example.org/a.png"},
        {"inlineData": {"mimeType": "image/png", "data": _PIXEL}},
    ]
)
_OTHER_BLOCKS: _Strategy = st.sampled_from(
    [
        {"type": "thinking", "thinking": "hm", "signature": "s"},
        {"type": "thinking", "thinking": "hm"},
        {"type": "redacted_thinking", "data": "x"},
        {"type": "reasoning", "text": "hm"},
        {"type": "server_tool_use", "id": "srv", "name": "web_search", "input": {}},
        {"type": "web_search_tool_result", "tool_use_id": "srv", "content": []},
        {"text": "hm", "thought": True, "thoughtSignature": "s"},
    ]
)


def _blocks() -> _Strategy:
    """Blocks of any provider's messages, well made or not."""
    text = _objects(type=st.sampled_from(["text", "input_text", "output_text"]), text=_WORDS)
    inner = text | _PICTURES | _WORDS | json_values()
    contents, failed = _WORDS | st.lists(inner, max_size=2), st.sampled_from([True, False, None])
    output = _objects(type="text", value=_WORDS)
    notes: _Strategy = st.sampled_from([{}, {"note": 1}, {"thought": True}])
    answer = _objects(functionResponse=_objects(id=_IDS, name=_NAMES, response=_INPUTS))
    beside: _Strategy = st.sampled_from([{}, {"text": "and?"}])
    return st.one_of(
        inner,
        _objects(type="tool_use", id=_IDS, name=_NAMES, input=_INPUTS),
        _objects(type="tool_result", tool_use_id=_IDS, content=contents, is_error=failed),
        _objects(type="tool-call", toolCallId=_IDS, toolName=_NAMES, input=_INPUTS),
        _objects(type="tool-result", toolCallId=_IDS, toolName=_NAMES, output=output),
        _OTHER_BLOCKS,
        st.builds(lambda said, more: {"text": said, **more}, _WORDS, notes),
        _objects(functionCall=_objects(id=_IDS, name=_NAMES, args=_INPUTS)),
        st.builds(lambda given, more: {**given, **more}, answer, beside),
    )


def hostile_messages(format: str, *, max_size: int = 8) -> st.SearchStrategy[list[Any]]:
    """Lists of messages as broken programs leave them: any role, any field, ids that are missing, shared or no text."""
    blocks = _blocks()
    function = _objects(name=_NAMES, arguments=_INPUTS)
    custom = _objects(id=_IDS, type="custom", custom=_objects(name=_NAMES, input="x"))
    calls = st.lists(_objects(id=_IDS, type="function", function=function) | custom | json_values(), max_size=3)
    held = _WORDS | st.lists(blocks, max_size=3) | json_values()
    said: _Strategy = st.fixed_dictionaries(
        {"role": st.sampled_from(_ROLES)},
        optional={
            "content": held,
            "parts": st.lists(blocks, max_size=3) | json_values(),
            "tool_calls": calls | _WORDS,
            "tool_call_id": _IDS,
            "function_call": function | _WORDS,
            "name": _NAMES,
            "reasoning_content": _WORDS,
            "refusal": _WORDS,
            "messageStatus": st.just("error"),
            "timestamp": st.sampled_from([0, 5, "5", None]),
        },
    )
    items = st.one_of(
        _objects(type="function_call", id=st.sampled_from(["fc_1", "x", None]), call_id=_IDS, name=_NAMES, arguments=_INPUTS),
        _objects(type="function_call_output", call_id=_IDS, output=held),
        _objects(type="reasoning", id=st.sampled_from(["rs_1", "x", None]), summary=[]),
        _objects(type="message", role="assistant", id=st.sampled_from(["msg_1", "x"]), content=held),
        st.sampled_from([{"type": "web_search_call", "id": "ws_1"}, {"id": "rs_1"}, {"type": "invented_call"}, {}]),
    )
    return st.lists(said | items if find_format(format).items_are_messages else said, max_size=max_size)
