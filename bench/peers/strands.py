"""Strands: the sliding window before each call of the model, and the repair of a session that is opened again."""

import json
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

from strands.agent.conversation_manager import SlidingWindowConversationManager
from strands.models.anthropic import AnthropicModel
from strands.models.openai import OpenAIModel
from strands.session.repository_session_manager import RepositorySessionManager

from bench.peers.peer import Message, Peer, Turn

__all__ = ["PEER"]


def _blocks(message: Message) -> list[dict[str, Any]]:
    text = message.get("content") or ""
    if message["role"] == "tool":
        return [{"toolResult": {"toolUseId": message["tool_call_id"], "status": "success", "content": [{"text": text}]}}]
    calls = [
        {
            "toolUse": {
                "toolUseId": call["id"],
                "name": call["function"]["name"],
                "input": json.loads(call["function"]["arguments"]),
            }
        }
        for call in message.get("tool_calls") or ()
    ]
    return [*([{"text": text}] if text else []), *calls]


def _messages(history: Sequence[Message]) -> list[Any]:
    """As Strands keeps them: the results of one turn are one message of the user."""
    found: list[Any] = []
    for message, before in zip(history, [None, *history], strict=False):
        if message["role"] == "tool" and before is not None and before["role"] == "tool":
            found[-1]["content"] += _blocks(message)
        else:
            found.append({"role": "user" if message["role"] == "tool" else message["role"], "content": _blocks(message)})
    return found


def sliding_window(history: Sequence[Message]) -> Turn:
    """`SlidingWindowConversationManager(per_turn=True)`; it shortens the agent's own list for good."""
    manager = SlidingWindowConversationManager(per_turn=True)
    agent: Any = SimpleNamespace(messages=_messages(history))

    def turn(message: Message) -> Any:
        [native] = _messages([message])

        def job() -> object:
            agent.messages.append(native)
            manager.apply_management(agent)
            return agent.messages

        return job

    return turn


def _repaired(history: Sequence[Message]) -> list[Any]:
    manager: Any = RepositorySessionManager
    return list(manager._fix_broken_tool_use(None, _messages(history)))  # it needs no session


_ANTHROPIC = AnthropicModel(model_id="claude-sonnet-4-5", max_tokens=1000, client_args={"api_key": "none"})

PEER = Peer(
    packages=("strands-agents",),
    ways={"Strands SlidingWindow": sliding_window},
    repairs={
        ("Strands on restore", "openai_chat"): lambda history: OpenAIModel.format_request_messages(_repaired(history)),
        ("Strands on restore", "anthropic"): lambda history: _ANTHROPIC._format_request_messages(_repaired(history)),
    },
)
