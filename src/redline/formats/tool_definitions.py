"""The tools that a model may call: written as each provider takes them, and described in a system message."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from redline.errors import ValidationError
from redline.formats.sdk_objects import plain_value
from redline.values.messages import Message
from redline.values.words import DOCUMENTS, Words, starts_as_tools_heading

__all__ = ["describe_tools", "is_tool_description", "write_tools"]

_DECLARATIONS = ("functionDeclarations", "function_declarations")
"""Where Gemini holds a list of functions."""
_SCHEMA_NAMES = ("input_schema", "parameters", "inputSchema", "parametersJsonSchema", "parameters_json_schema")
"""Where Anthropic, OpenAI, MCP and Gemini hold the JSON schema of what a tool takes."""
_NAMED_TYPES = ("function", "custom")
"""Types of the caller's own tools, which always have a name."""
_PLAIN_FIELDS = frozenset({"name", "description", "strict", "type", *_SCHEMA_NAMES})
_NO_PARAMETERS: dict[str, Any] = {"type": "object", "properties": {}}
_WRITTEN_FORMATS = ("anthropic", "openai_chat", "openai_responses", "gemini")


def write_tools(format: str, tools: Sequence[object]) -> list[dict[str, Any]]:
    """The tools in the provider's shape, in their order.

    A tool that is in it already stays as it is. A function as `{name, description, parameters}` (or `input_schema`), or in the
    shape of another of these providers, is written anew. A tool that a provider runs itself is taken in its own shape only.
    """
    if format not in _WRITTEN_FORMATS:
        known = ", ".join(_WRITTEN_FORMATS)
        raise ValidationError(f"No SDK of Python takes messages of the format {format!r}. Known are: {known}.")
    written: list[dict[str, Any]] = []
    declared: list[dict[str, Any]] = []
    for place, tool in enumerate(tools):
        given = _plain_tool(tool, place)
        functions = _functions(given)
        if _is_own(format, given):
            written.append(given)
        elif not functions:
            raise ValidationError(
                f"Tool {place} ({', '.join(sorted(given)[:6])}) is neither one that {format} takes nor a function with a name."
            )
        elif format == "gemini":  # declares all functions in one tool
            if not declared:
                written.append({"functionDeclarations": declared})
            declared += [_write_function(format, function) for function in functions]
        else:
            written += [_write_function(format, function) for function in functions]
    return written


def describe_tools(tools: Iterable[Mapping[str, Any]], words: Words = DOCUMENTS) -> str | None:
    """A heading and a line `- name: description` for each tool; None where there are no tools.

    A tool is taken in the shape of any provider. One that the provider runs itself may have no name but its type.
    """
    lines = [words.tools_heading]
    for position, tool in enumerate(tools):
        for name, description in _names_and_descriptions(tool, f"tools[{position}]"):
            lines.append(f"- {name}: {description}" if description else f"- {name}")
    return "\n".join(lines) if len(lines) > 1 else None


def is_tool_description(message: Message, words: Words = DOCUMENTS) -> bool:
    """Whether the message is a description, made by Redline in any words it knows, or by the caller in these."""
    return message.role == "system" and starts_as_tools_heading(message.text, words)


# --- writing


def _plain_tool(tool: object, place: int) -> dict[str, Any]:
    if callable(tool) and not hasattr(tool, "model_dump"):
        raise ValidationError(
            f"Tool {place} is a Python function, which an SDK would run by itself: no record would hold its calls and results. "
            "Describe it as {name, description, parameters}, and run it yourself."
        )
    given = plain_value(tool)
    if not isinstance(given, dict):
        raise ValidationError(f"Tool {place} must be a dictionary, not {type(tool).__name__}")
    return given


def _functions(given: dict[str, Any]) -> list[dict[str, Any]]:
    """The functions that a tool of any of the providers declares, plainly."""
    match given:
        case {"functionDeclarations": list(declared)} | {"function_declarations": list(declared)}:
            return [function for one in declared if isinstance(one, dict) for function in _functions(one)]
        case {"type": "function", "function": dict(function)}:
            return _functions(function)
        case {"name": str(name)} if given.keys() <= _PLAIN_FIELDS and given.get("type") in (None, *_NAMED_TYPES):
            schema = next((given[key] for key in _SCHEMA_NAMES if isinstance(given.get(key), Mapping)), _NO_PARAMETERS)
            return [
                {"name": name, "description": given.get("description"), "schema": schema, "strict": given.get("strict") or None}
            ]
    return []


def _is_own(format: str, given: dict[str, Any]) -> bool:
    """Whether a tool is in the provider's own shape already."""
    kind = given.get("type")
    match format:
        case "anthropic":
            return "input_schema" in given or (isinstance(kind, str) and kind not in _NAMED_TYPES)
        case "openai_chat":
            return isinstance(kind, str) and isinstance(given.get(kind), dict)
        case "openai_responses":
            return isinstance(kind, str) and not isinstance(given.get(kind), dict) and "input_schema" not in given
    return "name" not in given and "type" not in given  # Gemini


def _write_function(format: str, function: dict[str, Any]) -> dict[str, Any]:
    name, schema, strict = function["name"], function["schema"], function["strict"]
    said = {} if function["description"] is None else {"description": function["description"]}
    if_strict = {} if strict is None else {"strict": strict}
    match format:
        case "anthropic":
            return {"name": name, **said, "input_schema": schema, **if_strict}
        case "openai_chat":
            return {"type": "function", "function": {"name": name, **said, "parameters": schema, **if_strict}}
        case "openai_responses":
            # `strict` must be said here, and the API means yes if it is not, which most schemas are not made for.
            return {"type": "function", "name": name, **said, "parameters": schema, "strict": bool(strict)}
    # As JSON schema: what Gemini calls `parameters` knows less of it, and refuses the rest.
    return {"name": name, **said, "parametersJsonSchema": schema}


# --- describing


def _names_and_descriptions(tool: Mapping[str, Any], where: str) -> Iterator[tuple[str, str]]:
    """Name and description of a tool, or of each tool that one entry declares."""
    if not isinstance(tool, Mapping):
        raise ValidationError(f"{where} must be an object with a name and a description, not {type(tool).__name__}")
    kind = tool.get("type")
    inner = tool.get(kind) if isinstance(kind, str) else tool.get("function")
    match tool:
        case _ if isinstance(inner, Mapping):  # OpenAI Chat: {"type": "function", "function": {"name": …}}
            yield from _names_and_descriptions(inner, f"{where}.{kind or 'function'}")
        case {"name": str(name)} if name:
            description = tool.get("description")
            yield name, description if isinstance(description, str) else ""
        case {"type": str(name)} if name not in _NAMED_TYPES:
            yield name, ""
        case _:
            yield from _declared_in(tool, where)


def _declared_in(tool: Mapping[str, Any], where: str) -> Iterator[tuple[str, str]]:
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
            yield from _names_and_descriptions(declaration, f"{where}.{key}[{position}]")
