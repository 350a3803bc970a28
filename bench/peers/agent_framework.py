"""Microsoft Agent Framework: compaction by the size of the window, and of old results."""

import asyncio
import json
from collections.abc import Callable, Sequence
from typing import Any

from agent_framework import Content, ContextWindowCompactionStrategy, ToolResultCompactionStrategy, apply_compaction
from agent_framework import Message as FrameworkMessage

from bench.peers.peer import Message, Peer, Turn, Way

__all__ = ["PEER"]


def _native(message: Message) -> Any:
    text = message.get("content") or ""
    if message["role"] == "tool":
        return FrameworkMessage("tool", [Content.from_function_result(message["tool_call_id"], result=text)])
    calls = [
        Content.from_function_call(call["id"], call["function"]["name"], arguments=json.loads(call["function"]["arguments"]))
        for call in message.get("tool_calls") or ()
    ]
    return FrameworkMessage(message["role"], [Content.from_text(text), *calls])


def _way(strategy: Callable[[], Any]) -> Way:
    def begin(history: Sequence[Message]) -> Turn:
        applied = strategy()
        messages = [_native(message) for message in history]

        def turn(message: Message) -> Any:
            native = _native(message)

            def job() -> object:
                messages.append(native)
                loop = apply_compaction(messages, strategy=applied)
                return _LOOP.run_until_complete(loop)

            return job

        return turn

    return begin


_LOOP = asyncio.new_event_loop()

PEER = Peer(
    packages=("agent-framework-core",),
    ways={
        "agent-framework context window": _way(
            lambda: ContextWindowCompactionStrategy(max_context_window_tokens=200_000, max_output_tokens=16_384)
        ),
        "agent-framework tool results": _way(ToolResultCompactionStrategy),
    },
)
