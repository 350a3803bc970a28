"""LangChain: context editing with its defaults, and `trim_messages` to the same number of tokens."""

from collections.abc import Sequence
from typing import Any

from langchain.agents.middleware import ContextEditingMiddleware
from langchain.agents.middleware.types import ModelRequest
from langchain_core.messages import convert_to_messages, trim_messages
from langchain_core.messages.utils import count_tokens_approximately

from bench.peers.peer import Message, Peer, Turn

__all__ = ["PEER"]

_TRIGGER_TOKENS = 100_000
"""Where context editing begins by default."""


def context_editing(history: Sequence[Message]) -> Turn:
    """`ContextEditingMiddleware()`, whose only edit is ClearToolUsesEdit()."""
    middleware: Any = ContextEditingMiddleware()
    messages = convert_to_messages(history)

    def turn(message: Message) -> Any:
        [native] = convert_to_messages([message])

        def job() -> object:
            messages.append(native)
            request: Any = ModelRequest(model=None, messages=messages)
            return middleware.wrap_model_call(request, lambda edited: edited)

        return job

    return turn


def trimming(history: Sequence[Message]) -> Turn:
    """`trim_messages` as its documentation advises for agents."""
    messages = convert_to_messages(history)

    def turn(message: Message) -> Any:
        [native] = convert_to_messages([message])

        def job() -> object:
            messages.append(native)
            return trim_messages(
                messages,
                max_tokens=_TRIGGER_TOKENS,
                token_counter=count_tokens_approximately,
                strategy="last",
                start_on="human",
                end_on=("human", "tool"),
                include_system=True,
            )

        return job

    return turn


PEER = Peer(
    packages=("langchain", "langchain-core"),
    ways={"LangChain ContextEditingMiddleware": context_editing, "LangChain trim_messages": trimming},
)
