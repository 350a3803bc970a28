"""The tool description: a system message that lists the tools of a conversation, one line for each."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from redline.errors import ValidationError
from redline.values.messages import Message
from redline.values.words import DOCUMENTS, Words, starts_as_tools_heading

__all__ = ["describe_tools", "is_tool_description"]

_DECLARATIONS = ("functionDeclarations", "function_declarations")
_NAMED_TYPES = ("function", "custom")
"""Types of the caller's own tools, which always have a name."""


def describe_tools(tools: Iterable[Mapping[str, Any]], words: Words = DOCUMENTS) -> str | None:
    """The heading and a line `- name: description` for each tool; None where there are no tools.

    A tool is taken in the shape of any provider. One that the provider runs itself may have no name but its type.
    """
    lines = [_line(*named) for position, tool in enumerate(tools) for named in _named(tool, f"tools[{position}]")]
    return "\n".join((words.tools_heading, *lines)) if lines else None


def is_tool_description(message: Message, words: Words = DOCUMENTS) -> bool:
    """Whether the message is a description, made by Redline in any words it knows, or by the caller in these."""
    return message.role == "system" and starts_as_tools_heading(message.text, words)


def _line(name: str, description: str) -> str:
    return f"- {name}: {description}" if description else f"- {name}"


def _named(tool: Mapping[str, Any], where: str) -> Iterator[tuple[str, str]]:
    """Name and description of a tool, or of each tool that one entry declares."""
    if not isinstance(tool, Mapping):
        raise ValidationError(f"{where} must be an object with a name and a description, not {type(tool).__name__}")
    kind = tool.get("type")
    inner = tool.get(kind) if isinstance(kind, str) else tool.get("function")
    match tool:
        case _ if isinstance(inner, Mapping):  # OpenAI Chat: {"type": "function", "function": {"name": …}}
            yield from _named(inner, f"{where}.{kind or 'function'}")
        case {"name": str(name)} if name:
            description = tool.get("description")
            yield name, description if isinstance(description, str) else ""
        case {"type": str(name)} if name not in _NAMED_TYPES:
            yield name, ""
        case _:
            yield from _declared(tool, where)


def _declared(tool: Mapping[str, Any], where: str) -> Iterator[tuple[str, str]]:
    """Gemini: a list of functions under one key, and each of the provider's own tools under a key of its name."""
    held = {key: value for key, value in tool.items() if value is not None}
    if not held or not all(isinstance(value, Mapping) or key in _DECLARATIONS for key, value in held.items()):
        raise ValidationError(f"{where} has no name (its keys are {', '.join(map(str, tool)) or 'none'})")
    for key, value in held.items():
        if key not in _DECLARATIONS:
            yield key, ""
            continue
        if not isinstance(value, list | tuple):
            raise ValidationError(f"{where}.{key} must be a list, not {type(value).__name__}")
        for position, declaration in enumerate(value):
            yield from _named(declaration, f"{where}.{key}[{position}]")
