"""pydantic-ai: the repair that it runs before every request, with a processor that clears old results."""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
    repair_messages,
)
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.openai import OpenAIProvider

from bench.peers.peer import Message, Peer, Turn, call_names

__all__ = ["PEER"]

_KEEP = 3
_OPENAI = OpenAIChatModel("gpt-5", provider=OpenAIProvider(api_key="none"))
_ANTHROPIC = AnthropicModel("claude-sonnet-4-5", provider=AnthropicProvider(api_key="none"))


def _native(message: Message, names: dict[str, str]) -> ModelMessage:
    text = message.get("content") or ""
    match message["role"]:
        case "assistant":
            calls = [
                ToolCallPart(call["function"]["name"], json.loads(call["function"]["arguments"]), call["id"])
                for call in message.get("tool_calls") or ()
            ]
            return ModelResponse([*([TextPart(text)] if text else []), *calls])
        case "tool":
            id = message["tool_call_id"]
            return ModelRequest([ToolReturnPart(names.get(id, "unknown"), text, id)])
        case _:
            return ModelRequest([UserPromptPart(text)])


def _cleared(messages: list[ModelMessage]) -> list[ModelMessage]:
    """A processor as users write it: all results but the last few are replaced by a word."""
    results = [
        at for at, one in enumerate(messages) if isinstance(one, ModelRequest) and isinstance(one.parts[0], ToolReturnPart)
    ]
    after = list(messages)
    for at in results[:-_KEEP]:
        parts = [
            replace(part, content="[cleared]") if isinstance(part, ToolReturnPart) else part for part in messages[at].parts
        ]
        after[at] = replace(messages[at], parts=parts)
    return after


def _way(history: Sequence[Message], *, clears: bool) -> Turn:
    names = call_names(history)
    messages = [_native(message, names) for message in history]

    def turn(message: Message) -> Any:
        names.update(call_names([message]))
        native = _native(message, names)

        def job() -> object:
            messages.append(native)
            return repair_messages(_cleared(messages) if clears else messages)

        return job

    return turn


async def _to_openai(history: Sequence[Message]) -> Any:
    return await _OPENAI._map_messages(_repaired(history), ModelRequestParameters())


async def _to_anthropic(history: Sequence[Message]) -> Any:
    return (await _ANTHROPIC._map_message(_repaired(history), ModelRequestParameters(), {}))[1]


def _repaired(history: Sequence[Message]) -> list[ModelMessage]:
    names = call_names(history)
    return list(repair_messages([_native(message, names) for message in history]))


PEER = Peer(
    packages=("pydantic-ai-slim",),
    ways={
        "pydantic-ai history repair": lambda history: _way(history, clears=False),
        "pydantic-ai repair and a clearing processor": lambda history: _way(history, clears=True),
    },
    repairs={
        ("pydantic-ai repair_messages", "openai_chat"): lambda history: asyncio.run(_to_openai(history)),
        ("pydantic-ai repair_messages", "anthropic"): lambda history: asyncio.run(_to_anthropic(history)),
    },
)
