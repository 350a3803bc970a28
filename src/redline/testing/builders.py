"""A conversation in one line: turns as plain values, written in the format of any provider."""

from collections.abc import Sequence
from typing import Any

from redline.providers import find_format
from redline.values.messages import Part, Role, Text, ToolCall, ToolResult

Turn = tuple[Role, tuple[Part, ...]]
"""Who speaks, and what."""


def says(role: Role, text: str) -> Turn:
    """A turn of words."""
    return role, (Text(text),)


def asks(name: str, arguments: dict[str, Any], answer: str | None, *, id: str = "call_1", text: str = "") -> list[Turn]:
    """The assistant calls a tool and gets the answer; None leaves the call open, as a crash would."""
    said: tuple[Part, ...] = (Text(text),) if text else ()
    call: Turn = ("assistant", (*said, ToolCall(id, name, arguments)))
    if answer is None:
        return [call]
    return [call, ("tool", (ToolResult(id, (Text(answer),), name),))]


def conversation(format: str, turns: Sequence[Turn]) -> list[Any]:
    """The turns as native messages of a format.

    >>> conversation("openai_chat", [says("user", "hi"), *asks("read", {"path": "a"}, "text of a")])[0]
    {'role': 'user', 'content': 'hi'}
    """
    writer = find_format(format)
    return [payload for role, parts in turns for payload in writer.compose(role, parts).payloads]
