"""deepagents: the patching of calls without a result, and the check for what must be moved to files."""

from collections.abc import Callable, Sequence
from typing import Any

from deepagents.middleware.filesystem import FilesystemMiddleware
from deepagents.middleware.patch_tool_calls import PatchToolCallsMiddleware
from langchain.agents.middleware.types import ModelRequest
from langchain_anthropic.chat_models import _format_messages
from langchain_core.messages import convert_to_messages, convert_to_openai_messages

from bench.peers.peer import Message, Peer, Turn

__all__ = ["PEER"]


def patching(history: Sequence[Message]) -> Turn:
    """`PatchToolCallsMiddleware`, which a deep agent runs before each run, and the eviction of each call of the model."""
    patch: Any = PatchToolCallsMiddleware()
    files: Any = FilesystemMiddleware()
    messages = convert_to_messages(history)

    def turn(message: Message) -> Any:
        [native] = convert_to_messages([message])

        def job() -> object:
            messages.append(native)
            patch.before_agent({"messages": messages}, None)
            request: Any = ModelRequest(model=None, messages=messages, state={"messages": messages})
            return files._evict_and_truncate_messages(request)

        return job

    return turn


def _patched(history: Sequence[Message], send: Callable[[list[Any]], Any]) -> list[Any]:
    messages = convert_to_messages(history)
    update: Any = PatchToolCallsMiddleware().before_agent({"messages": messages}, None)
    return list(send(update["messages"][1:] if update else messages))  # the first says that all others are replaced


PEER = Peer(
    packages=("deepagents", "langchain-core", "langchain-anthropic"),
    ways={"deepagents patching and eviction": patching},
    repairs={
        ("deepagents PatchToolCalls", "openai_chat"): lambda history: _patched(history, convert_to_openai_messages),
        ("deepagents PatchToolCalls", "anthropic"): lambda history: _patched(
            history, lambda messages: _format_messages(messages, model="claude-sonnet-4-5")[1]
        ),
    },
)
