"""What a model answered, whichever of the SDKs returned it, as messages that its API takes back, with the usage."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from redline.errors import FormatError, ValidationError
from redline.formats import FORMATS, detect_format, find_format
from redline.formats.sdk_objects import plain_value
from redline.formats.streamed import join_stream
from redline.formats.usage import Usage, read_usage
from redline.values import payloads

__all__ = ["Answer", "read_answer"]

_TAKEN = (
    "Taken are responses of Anthropic's Messages, OpenAI's Chat Completions and Responses, and Gemini, as objects of their "
    "SDKs or as dictionaries; a single message or content; and a list of all events of a stream."
)


@dataclass(frozen=True, slots=True)
class Answer:
    """What the model said, and what it cost."""

    messages: tuple[dict[str, Any], ...]
    """In the shape in which the API takes them as input; none where the model said nothing."""
    usage: Usage | None
    """None where no tokens were reported, or not in numbers."""
    model: str
    """As the provider names it; empty where the answer does not say."""
    format: str


def read_answer(value: object, format: str | None = None) -> Answer:
    """The answer in what an SDK returned, whole or streamed; `format` settles what its shape leaves open.

    It is recognised by its shape, so dictionaries do as well as the SDKs' own objects. Of several choices or candidates the
    first is taken. What only the SDK or the response has (its id, parsed values, fields that are null) is left out.
    """
    if format is not None:
        find_format(format)
    given = _plain_answer(value)
    whole = join_stream(given) if isinstance(given, list) else given
    answer: Answer | None = None
    if isinstance(whole, dict):
        answer = _read_response(whole) or _read_message(whole, format)
    elif isinstance(given, list):
        answer = _read_list(given, format)
    if answer is not None:
        return answer
    named = type(value).__name__
    match given:
        case {"error": dict(error)}:
            named = f"The error {str(error.get('message'))[:200]!r}"
        case dict():
            named += f" with {', '.join(sorted(map(str, given))[:8]) or 'nothing in it'}"
        case list():
            named += f" of {len(given)} elements"
    raise ValidationError(f"{named} is not an answer of a model that Redline knows. {_TAKEN}")


def _plain_answer(value: object) -> Any:
    """What was given as plain JSON values; a stream that nobody has read is refused."""
    if isinstance(value, str | bytes):
        try:
            value = payloads.decode_text(value) if isinstance(value, str) else payloads.decode(value)
        except (ValueError, RecursionError) as problem:
            raise ValidationError(f"The answer is {type(value).__name__} that is not JSON: {problem}. {_TAKEN}") from problem
    if hasattr(value, "__next__") or hasattr(value, "__anext__") or hasattr(value, "__await__"):
        raise ValidationError(
            f"{type(value).__name__} has not been read yet. Read the stream (or await the answer) first, and pass the final "
            "message or response that its SDK gives, or a list of all its events."
        )
    return plain_value(value)


# --- recognising


def _read_response(given: dict[str, Any]) -> Answer | None:
    """The response of an API, which has a shape that no message has."""
    match given:
        case {"type": str(kind), "response": dict(response)} if kind.startswith("response."):
            return _read_response(response)
        case {"choices": [{"delta": _}, *_]} if (joined := join_stream([given])) is not None:
            return _read_response(joined)
        case {"choices": [{"message": dict(message)}, *_]}:
            return _answer("openai_chat", message, given)
        case {"output": list(items)} if "type" not in given:  # an item can have an output, too
            return _answer("openai_responses", items, given)
        case {"candidates": [{"content": dict(content)}, *_]}:
            return _answer("gemini", content, given)
        case {"candidates": list()} | {"usageMetadata": _} | {"usage_metadata": _} | {"promptFeedback": _}:
            return _answer("gemini", {}, given)
        case {"content": list(), "role": "assistant"} if "stop_reason" in given or "usage" in given:
            return _answer("anthropic", given, given)
    return None


def _read_message(given: dict[str, Any], format: str | None) -> Answer | None:
    """One message, content or item, as it is in a history."""
    if "parts" in given:
        given = {**given, "role": given.get("role") or "model"}
    try:
        could_be = format is not None and FORMATS[format].evidence(given) > 0
        name = str(format) if could_be else detect_format([given]).name
    except FormatError:
        return None
    if (role := FORMATS[name].interpret(given, given).role) != "assistant":
        raise ValidationError(f"The message is one of the {role}'s; an answer is what the model said. Use add() for it.")
    return _answer(name, [given] if name == "openai_responses" else given, given)


def _read_list(given: list[Any], format: str | None) -> Answer | None:
    """Output items, content blocks or parts, as responses hold them."""
    if not given or not all(isinstance(element, dict) for element in given):
        return None
    items = FORMATS["openai_responses"]
    if all(items.evidence(item) and items.interpret(item, item).role == "assistant" for item in given):
        return _answer("openai_responses", given, {})
    if all(isinstance(block.get("type"), str) for block in given):
        return _read_message({"role": "assistant", "content": given}, format or "anthropic")
    are_parts = all("role" not in part for part in given) and any(not _GEMINI_PART.isdisjoint(part) for part in given)
    return _read_message({"role": "model", "parts": given}, "gemini") if are_parts else None


_GEMINI_PART = frozenset({"text", "functionCall", "function_call", "inlineData", "inline_data"})


def _answer(format: str, said: Any, given: Mapping[str, Any]) -> Answer:
    """What was said, as the API takes it back, with the usage and the model that the response names."""
    messages: list[dict[str, Any]] = []
    match format:
        case "anthropic" if isinstance(said["content"], list):
            blocks = [_without(block, "parsed_output") for block in said["content"] if isinstance(block, dict)]
            messages = [{"role": "assistant", "content": blocks}] if blocks else []
        case "openai_chat":
            messages = [_chat_message(said)]
        case "openai_responses":
            messages = [_response_item(item) for item in said if isinstance(item, dict)]
        case "gemini":
            held = said.get("parts")
            parts = [_gemini_part(part) for part in held if isinstance(part, dict)] if isinstance(held, list) else []
            messages = [{"role": "model", "parts": [part for part in parts if part]}] if any(parts) else []
        case _:
            messages = [said]
    model = next((given[name] for name in _MODEL_NAMES if isinstance(given.get(name), str)), "")
    try:
        usage = read_usage(given)
    except ValidationError:  # what the model said is worth keeping, whatever its server says about tokens
        usage = None
    return Answer(tuple(messages), usage, model, format)


_MODEL_NAMES = ("model", "modelVersion", "model_version")


# --- what the API takes back


def _without(holder: Mapping[str, Any], *names: str) -> dict[str, Any]:
    """All but these fields and those that are null, which the APIs refuse in most places, though they send them."""
    return {name: held for name, held in holder.items() if name not in names and held is not None}


def _chat_message(message: Mapping[str, Any]) -> dict[str, Any]:
    said = {"role": "assistant", "content": None, **_without(message, "parsed", "annotations")}
    if not said.get("tool_calls"):
        said.pop("tool_calls", None)
    elif isinstance(said["tool_calls"], list):
        said["tool_calls"] = [_chat_call(call) if isinstance(call, dict) else call for call in said["tool_calls"]]
    if isinstance(said.get("audio"), dict):
        said["audio"] = {"id": said["audio"].get("id")}
    does_something = any(said.get(name) for name in ("tool_calls", "function_call", "refusal", "audio"))
    return said if does_something or said["content"] is not None else {**said, "content": ""}


def _chat_call(call: Mapping[str, Any]) -> dict[str, Any]:
    function = call.get("function")
    held = _without(function, "parsed_arguments") if isinstance(function, dict) else None
    return _without({**call, "function": held}, "index")


def _response_item(item: Mapping[str, Any]) -> dict[str, Any]:
    required = dict.fromkeys(_REQUIRED.get(str(item.get("type")), ()))
    said = {**required, **_without(item, "created_by", "parsed_arguments")}
    if said.get("type") == "message" and isinstance(said.get("content"), list):
        blocks = said["content"]
        said["content"] = [_without(block, "parsed") if isinstance(block, dict) else block for block in blocks]
    if said.get("type") == "web_search_call" and isinstance(said.get("action"), dict):
        said["action"] = _without(said["action"])
    return said


_REQUIRED = {"code_interpreter_call": ("code", "outputs"), "image_generation_call": ("result",)}
"""What an item must say, if only that it is null."""


def _gemini_part(part: Mapping[str, Any]) -> dict[str, Any]:
    """The SDK gives every field that a part could have as null, and likewise inside a call; its arguments are the model's."""
    return {name: _without(held) if isinstance(held, dict) else held for name, held in _without(part).items()}
