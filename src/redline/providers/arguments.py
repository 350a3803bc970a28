"""What the methods of the providers' SDKs take: the model, the system prompt, the tools and the messages, each in its place.

How each provider writes them is in its `api`. Tools are also described in a system message.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from redline.errors import ExecutionError, ValidationError
from redline.providers.api import System, ToolFunction, system_words
from redline.providers.apis import APIS, api_of
from redline.providers.sdk_objects import plain_value
from redline.values.messages import Message
from redline.values.words import ZH, Placeholders, starts_as_tools_heading

__all__ = ["System", "describe_tools", "is_tool_description", "join_system", "sdk_arguments", "write_tools"]

_DECLARATIONS = ("functionDeclarations", "function_declarations")
"""Where one tool holds a list of functions, for Gemini."""
_SCHEMA_NAMES = ("input_schema", "parameters", "inputSchema", "parametersJsonSchema", "parameters_json_schema")
"""Where Anthropic, OpenAI, MCP and Gemini hold the JSON schema of what a tool takes."""
_NAMED_TYPES = ("function", "custom")
"""Types of the caller's own tools, which always have a name."""
_PLAIN_FIELDS = frozenset({"name", "description", "strict", "type", *_SCHEMA_NAMES})
_NO_PARAMETERS: dict[str, Any] = {"type": "object", "properties": {}}


def sdk_arguments(
    format: str,
    messages: Sequence[dict[str, Any]],
    /,
    *,
    model: str,
    system: System = None,
    tools: Sequence[object] = (),
    **more: object,
) -> dict[str, Any]:
    """The keyword arguments of the SDK's method, with `more` among them; nothing is said twice.

    For `messages.create` of Anthropic, `chat.completions.create` and `responses.create` of OpenAI, `models.generate_content` of
    Gemini, and their streaming counterparts. Gemini's takes all settings in `config`: that is where `more` goes, and a `config`
    of your own is added to. `system` is words or, for Anthropic and Chat, also blocks of text.
    """
    if not isinstance(model, str) or not model:
        raise ValidationError(f"model must be the name of a model, not {model!r}. Name it where the conversation is made.")
    if not messages:
        raise ExecutionError(
            "There is no message to send, and every provider refuses a request without one. Add a message first."
        )
    written = write_tools(format, tools)
    api = api_of(format)
    usable = {"tools": written} if written else {}  # OpenAI refuses an empty list
    told = api.arguments(list(messages), system, usable) if api else {}
    if "config" not in told:
        return _joined({"model": model, **told}, more)
    own = more.pop("config", None)
    if own is None or isinstance(own, Mapping):
        own = dict(own or {})
    elif (names := getattr(own, "model_fields_set", None)) is not None:
        own = {name: getattr(own, name) for name in sorted(names)}
    else:
        raise ValidationError(f"config must be a dictionary or a GenerateContentConfig, not {type(own).__name__}")
    config = _joined(_joined(told.pop("config"), own), more)
    return {"model": model, **told, **({"config": config} if config else {})}


def join_system(given: System, lifted: Any) -> System:
    """The caller's system prompt, and after it what the system says that was lifted out of the messages."""
    if lifted is None:
        return given
    if not given:
        return lifted if isinstance(lifted, list) else system_words(lifted["parts"])
    if isinstance(lifted, list):
        return [*([{"type": "text", "text": given}] if isinstance(given, str) else given), *lifted]
    return f"{system_words(given)}\n\n{system_words(lifted['parts'])}"


def _joined(said: Mapping[str, Any], more: Mapping[str, Any]) -> dict[str, Any]:
    """All of them; what is in both is refused, Gemini's system prompt also in its other spelling."""
    names = {"system_instruction" if name == "systemInstruction" else name for name in more}
    if twice := sorted(said.keys() & names):
        raise ValidationError(f"{', '.join(twice)} is set by the conversation; leave it out here, or set it only here.")
    return {**said, **more}


def write_tools(format: str, tools: Sequence[object]) -> list[dict[str, Any]]:
    """The tools in the provider's shape, in their order.

    A tool that is in it already stays as it is. A function as `{name, description, parameters}` (or `input_schema`), or in the
    shape of another of these providers, is written anew. A tool that a provider runs itself is taken in its own shape only.
    """
    if (api := api_of(format)) is None:
        known = ", ".join(api.name for api in APIS)
        raise ValidationError(f"No SDK of Python takes messages of the format {format!r}. Known are: {known}.")
    written: list[dict[str, Any]] = []
    declared: list[dict[str, Any]] = []
    for place, tool in enumerate(tools):
        if callable(tool) and not hasattr(tool, "model_dump"):
            raise ValidationError(
                f"Tool {place} is a Python function, which an SDK would run by itself: no record would hold its calls and "
                "results. Describe it as {name, description, parameters}, and run it yourself."
            )
        given = plain_value(tool)
        if not isinstance(given, dict):
            raise ValidationError(f"Tool {place} must be a dictionary, not {type(tool).__name__}")
        functions = _functions(given)
        if api.is_own_tool(given):
            written.append(given)
        elif not functions:
            raise ValidationError(
                f"Tool {place} ({', '.join(sorted(given)[:6])}) is neither one that {format} takes nor a function with a name."
            )
        elif api.declared_under:
            if not declared:
                written.append({api.declared_under: declared})
            declared += map(api.write_function, functions)
        else:
            written += map(api.write_function, functions)
    return written


def _functions(given: dict[str, Any]) -> list[ToolFunction]:
    """The functions that a tool of any of the providers declares, plainly."""
    match given:
        case {"functionDeclarations": list(declared)} | {"function_declarations": list(declared)}:
            return [function for one in declared if isinstance(one, dict) for function in _functions(one)]
        case {"type": "function", "function": dict(function)}:
            return _functions(function)
        case {"name": str(name)} if given.keys() <= _PLAIN_FIELDS and given.get("type") in (None, *_NAMED_TYPES):
            schema = next((given[key] for key in _SCHEMA_NAMES if isinstance(given.get(key), Mapping)), _NO_PARAMETERS)
            described = {} if given.get("description") is None else {"description": given["description"]}
            return [ToolFunction({"name": name, **described}, schema, given.get("strict") or None)]
    return []


def describe_tools(tools: Iterable[Mapping[str, Any]], words: Placeholders = ZH) -> str | None:
    """A heading and a line `- name: description` for each tool in the shape of any provider; None where there are no tools."""
    lines = [words.tools_heading]
    for position, tool in enumerate(tools):
        for name, description in _names_and_descriptions(tool, f"tools[{position}]"):
            lines.append(f"- {name}: {description}" if description else f"- {name}")
    return "\n".join(lines) if len(lines) > 1 else None


def is_tool_description(message: Message, words: Placeholders = ZH) -> bool:
    """Whether the message is a description, made by Redline in any words it knows, or by the caller in these."""
    return message.role == "system" and starts_as_tools_heading(message.text, words)


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
