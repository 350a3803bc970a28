"""Google ADK: `ContextFilterPlugin`, and the placeholders that its LiteLLM model puts for missing results."""

import asyncio
import json
from collections.abc import Sequence
from typing import Any

from google.adk.models.llm_request import LlmRequest
from google.adk.plugins.context_filter_plugin import ContextFilterPlugin
from google.genai import types

from bench.peers.peer import Message, Peer, Turn, call_names

__all__ = ["PEER"]

_KEEP = 10
_LOOP = asyncio.new_event_loop()


def _native(message: Message, names: dict[str, str]) -> types.Content:
    text = message.get("content") or ""
    if message["role"] == "tool":
        id = message["tool_call_id"]
        answer = types.FunctionResponse(id=id, name=names.get(id, "unknown"), response={"result": text})
        return types.Content(role="user", parts=[types.Part(function_response=answer)])
    calls = [
        types.FunctionCall(id=call["id"], name=call["function"]["name"], args=json.loads(call["function"]["arguments"]))
        for call in message.get("tool_calls") or ()
    ]
    parts = [*([types.Part(text=text)] if text else []), *(types.Part(function_call=call) for call in calls)]
    return types.Content(role="model" if message["role"] == "assistant" else "user", parts=parts)


def context_filter(history: Sequence[Message]) -> Turn:
    """`ContextFilterPlugin(num_invocations_to_keep=10)`; without a number it does nothing."""
    plugin = ContextFilterPlugin(num_invocations_to_keep=_KEEP)
    names = call_names(history)
    contents = [_native(message, names) for message in history]

    def turn(message: Message) -> Any:
        names.update(call_names([message]))
        native = _native(message, names)
        request = LlmRequest(contents=[])

        def job() -> object:
            contents.append(native)
            request.contents = contents
            callback: Any = plugin.before_model_callback(callback_context=None, llm_request=request)
            _LOOP.run_until_complete(callback)
            return request.contents

        return job

    return turn


async def _sent(history: Sequence[Message]) -> list[Any]:
    from google.adk.models.lite_llm import _content_to_message_param, _ensure_tool_results

    names, found = call_names(history), list[Any]()
    for message in history:
        made = await _content_to_message_param(_native(message, names), provider="openai", model="openai/gpt-5")
        found += made if isinstance(made, list) else [made] if made else []
    healed = _ensure_tool_results(found, "openai/gpt-5")
    return [{key: value for key, value in dict(one).items() if value is not None} for one in healed]  # LiteLLM sends no null


PEER = Peer(
    packages=("google-adk",),
    ways={"Google ADK ContextFilterPlugin": context_filter},
    repairs={("Google ADK LiteLlm placeholders", "openai_chat"): lambda history: _LOOP.run_until_complete(_sent(history))},
)
