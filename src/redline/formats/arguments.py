"""What the methods of the providers' SDKs take: the model, the system prompt, the tools and the messages, each in its place."""

from collections.abc import Mapping, Sequence
from typing import Any

from redline.errors import ExecutionError, ValidationError
from redline.formats.tool_definitions import write_tools

__all__ = ["System", "join_system", "sdk_arguments"]

System = str | Sequence[Mapping[str, Any]] | None
"""A system prompt: words, or blocks of text as the provider takes them."""


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
    usable = {"tools": written} if written else {}  # OpenAI refuses an empty list
    match format:
        case "anthropic":
            said = _without_blanks(system)
            prompt = {"system": said} if said else {}
            return _joined({"model": model, **prompt, **usable, "messages": list(messages)}, more)
        case "openai_chat":
            first = [{"role": "system", "content": system}] if system else []
            return _joined({"model": model, "messages": [*first, *messages], **usable}, more)
        case "openai_responses":
            prompt = {"instructions": _words(system)} if system else {}
            return _joined({"model": model, **prompt, "input": list(messages), **usable}, more)
    own = {"system_instruction": _words(system)} if system else {}
    config = _joined(_joined({**own, **usable}, _config_fields(more.pop("config", None))), more)
    return {"model": model, "contents": list(messages), **({"config": config} if config else {})}


def join_system(given: System, lifted: Any) -> System:
    """The caller's system prompt, and after it what the system says that was lifted out of the messages."""
    if lifted is None:
        return given
    if not given:
        return lifted if isinstance(lifted, list) else _words(lifted["parts"])
    if isinstance(lifted, list):
        return [*([{"type": "text", "text": given}] if isinstance(given, str) else given), *lifted]
    return f"{_words(given)}\n\n{_words(lifted['parts'])}"


def _joined(said: Mapping[str, Any], more: Mapping[str, Any]) -> dict[str, Any]:
    """All of them; what is in both is refused, Gemini's system prompt also in its other spelling."""
    names = {"system_instruction" if name == "systemInstruction" else name for name in more}
    if twice := sorted(said.keys() & names):
        raise ValidationError(f"{', '.join(twice)} is set by the conversation; leave it out here, or set it only here.")
    return {**said, **more}


def _without_blanks(system: System) -> System:
    """The system prompt without white space that is all there is, which Anthropic refuses as text."""
    if system is None or isinstance(system, str):
        return system if system and system.strip() else None
    return [block for block in system if not (isinstance(block.get("text"), str) and not str(block["text"]).strip())]


def _words(system: str | Sequence[Mapping[str, Any]]) -> str:
    """The system prompt for an API that takes it as words only."""
    if isinstance(system, str):
        return system
    texts = [str(block["text"]) for block in system if isinstance(block.get("text"), str)]
    return "\n\n".join(texts)


def _config_fields(config: object) -> dict[str, Any]:
    """The caller's own settings, from a dictionary or the SDK's object, with values of any type."""
    if config is None:
        return {}
    if isinstance(config, Mapping):
        return dict(config)
    names = getattr(config, "model_fields_set", None)
    if names is None:
        raise ValidationError(f"config must be a dictionary or a GenerateContentConfig, not {type(config).__name__}")
    return {name: getattr(config, name) for name in sorted(names)}
