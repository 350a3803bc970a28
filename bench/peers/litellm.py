"""LiteLLM: `trim_messages`, `compress`, and what `modify_params` repairs on the way to Anthropic."""

from collections.abc import Sequence
from typing import Any

import litellm
from litellm.compression import compress
from litellm.litellm_core_utils.prompt_templates.factory import anthropic_messages_pt

from bench.peers.peer import Message, Peer, Turn

__all__ = ["PEER"]

_MODEL = "claude-sonnet-4-5"


def _plain(message: Message) -> Message:
    return {key: value for key, value in message.items() if key != "timestamp"}


def trimming(history: Sequence[Message]) -> Turn:
    """`trim_messages` to three quarters of the model's window."""
    messages = [_plain(message) for message in history]

    def turn(message: Message) -> Any:
        def job() -> object:
            messages.append(message)
            return litellm.utils.trim_messages(messages, model=_MODEL)

        return job

    return turn


def compressing(history: Sequence[Message]) -> Turn:
    """`compress` with its defaults: above 200,000 tokens what BM25 ranks low becomes a stub."""
    messages = [_plain(message) for message in history]

    def turn(message: Message) -> Any:
        def job() -> object:
            messages.append(message)
            return compress(messages, _MODEL)

        return job

    return turn


def _to_anthropic(history: Sequence[Message]) -> list[Any]:
    litellm.modify_params = True
    return list(anthropic_messages_pt([_plain(message) for message in history], model=_MODEL, llm_provider="anthropic"))


PEER = Peer(
    packages=("litellm",),
    ways={"LiteLLM trim_messages": trimming, "LiteLLM compress": compressing},
    repairs={("LiteLLM modify_params", "anthropic"): _to_anthropic},
)
