"""The tools that a model may call, written as each provider takes them among its tools."""

from collections.abc import Mapping, Sequence
from typing import Any

from redline.errors import ValidationError
from redline.formats.sdk_objects import plain_value

__all__ = ["write_tools"]

_SCHEMA_NAMES = ("input_schema", "parameters", "inputSchema", "parametersJsonSchema", "parameters_json_schema")
"""Where Anthropic, OpenAI, MCP and Gemini hold the JSON schema of what a tool takes."""
_PLAIN_FIELDS = frozenset({"name", "description", "strict", "type", *_SCHEMA_NAMES})
_NO_PARAMETERS: dict[str, Any] = {"type": "object", "properties": {}}


def write_tools(format: str, tools: Sequence[object]) -> list[dict[str, Any]]:
    """The tools in the provider's shape, in their order.

    A tool that is in it already stays as it is. A function as `{name, description, parameters}` (or `input_schema`), or in the
    shape of another of these providers, is written anew. A tool that a provider runs itself is taken in its own shape only.
    """
    if format not in _KNOWN:
        raise ValidationError(f"No SDK of Python takes messages of the format {format!r}. Known are: {', '.join(_KNOWN)}.")
    written: list[dict[str, Any]] = []
    declared: list[dict[str, Any]] = []
    for place, tool in enumerate(tools):
        given = _given(tool, place)
        functions = _functions(given)
        if _is_own(format, given):
            written.append(given)
        elif not functions:
            raise ValidationError(
                f"Tool {place} ({', '.join(sorted(given)[:6])}) is neither one that {format} takes nor a function with a name."
            )
        elif format == "gemini":
            if not declared:
                written.append({"functionDeclarations": declared})
            declared += [_as_declared(function) for function in functions]
        else:
            written += [_WRITERS[format](function) for function in functions]
    return written


def _given(tool: object, place: int) -> dict[str, Any]:
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
        case {"name": str(name)} if given.keys() <= _PLAIN_FIELDS and given.get("type") in (None, "function", "custom"):
            schema = next((given[key] for key in _SCHEMA_NAMES if isinstance(given.get(key), Mapping)), _NO_PARAMETERS)
            return [
                {"name": name, "description": given.get("description"), "schema": schema, "strict": given.get("strict") or None}
            ]
    return []


def _is_own(format: str, given: dict[str, Any]) -> bool:
    kind = given.get("type")
    match format:
        case "anthropic":
            return "input_schema" in given or (isinstance(kind, str) and kind not in ("function", "custom"))
        case "openai_chat":
            return isinstance(kind, str) and isinstance(given.get(kind), dict)
        case "openai_responses":
            return isinstance(kind, str) and not isinstance(given.get(kind), dict) and "input_schema" not in given
        case "gemini":
            return "name" not in given and "type" not in given
    return False


def _as_anthropic(function: dict[str, Any]) -> dict[str, Any]:
    return _present({**_named(function), "input_schema": function["schema"], "strict": function["strict"]})


def _as_chat(function: dict[str, Any]) -> dict[str, Any]:
    inner = _present({**_named(function), "parameters": function["schema"], "strict": function["strict"]})
    return {"type": "function", "function": inner}


def _as_response(function: dict[str, Any]) -> dict[str, Any]:
    """`strict` must be said here, and the API means yes if it is not, which most schemas are not made for."""
    strict = bool(function["strict"])
    return {"type": "function", **_present({**_named(function), "parameters": function["schema"]}), "strict": strict}


def _as_declared(function: dict[str, Any]) -> dict[str, Any]:
    """As JSON schema: what Gemini calls `parameters` knows less of it, and refuses the rest."""
    return _present({**_named(function), "parametersJsonSchema": function["schema"]})


def _named(function: dict[str, Any]) -> dict[str, Any]:
    return {"name": function["name"], "description": function["description"]}


def _present(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: held for name, held in fields.items() if held is not None}


_WRITERS = {"anthropic": _as_anthropic, "openai_chat": _as_chat, "openai_responses": _as_response}
_KNOWN = (*_WRITERS, "gemini")
