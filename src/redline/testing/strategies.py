"""Hypothesis strategies: legal conversations in every format, and any JSON value."""

from typing import Any

from redline.errors import MissingExtraError
from redline.formats import find_format
from redline.testing.builders import Turn, conversation, says
from redline.values.messages import Media, Text, ToolCall, ToolResult

try:
    from hypothesis import strategies as st
except ImportError as problem:
    raise MissingExtraError("Generating conversations", "testing") from problem

__all__ = ["conversations", "json_values", "turns"]

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
        return payloads

    return native()
