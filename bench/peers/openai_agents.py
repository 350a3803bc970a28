"""OpenAI Agents SDK: `ToolOutputTrimmer`, and how a run prepares the items that it was given."""

from collections.abc import Sequence
from typing import Any

from agents.extensions import ToolOutputTrimmer
from agents.models.chatcmpl_converter import Converter
from agents.run_config import CallModelData, ModelInputData
from agents.run_internal.items import drop_orphan_function_calls, normalize_input_items_for_api

from bench.peers.peer import Message, Peer, Turn

__all__ = ["PEER"]


def _items(message: Message) -> list[Any]:
    """As the SDK keeps them: each call and each result is an item."""
    if message["role"] == "tool":
        return [{"type": "function_call_output", "call_id": message["tool_call_id"], "output": message["content"]}]
    said = [{"role": message["role"], "content": message["content"]}] if message.get("content") else []
    calls = [{"type": "function_call", "call_id": call["id"], **call["function"]} for call in message.get("tool_calls") or ()]
    return [*said, *calls]


def trimming(history: Sequence[Message]) -> Turn:
    """`ToolOutputTrimmer()` as filter of the model's input."""
    trimmer = ToolOutputTrimmer()
    items = [item for message in history for item in _items(message)]

    def turn(message: Message) -> Any:
        added = _items(message)

        def job() -> object:
            items.extend(added)
            return trimmer(CallModelData(ModelInputData(items, None), agent=None, context=None))

        return job

    return turn


def _prepared(history: Sequence[Message]) -> list[Any]:
    """What a run does with its input: calls without a result are dropped."""
    items = [item for message in history for item in _items(message)]
    return list(drop_orphan_function_calls(normalize_input_items_for_api(items)))


PEER = Peer(
    packages=("openai-agents",),
    ways={"openai-agents ToolOutputTrimmer": trimming},
    repairs={
        ("openai-agents drop_orphan_function_calls", "openai_chat"): lambda history: list(
            Converter.items_to_messages(_prepared(history))
        ),
        ("openai-agents drop_orphan_function_calls", "openai_responses"): _prepared,
    },
)
