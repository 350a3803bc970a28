"""Headroom: the compression pipeline with its defaults, but for the model of its text compressor, which it would download."""

from collections.abc import Sequence
from typing import Any

from headroom import compress

from bench.peers.peer import Message, Peer, Turn

__all__ = ["PEER"]

_MODEL = "claude-sonnet-4-5-20250929"


def compressing(history: Sequence[Message]) -> Turn:
    """`compress` of the whole history, as its documentation shows it."""
    messages = [{key: value for key, value in message.items() if key != "timestamp"} for message in history]

    def turn(message: Message) -> Any:
        def job() -> object:
            messages.append(message)
            return compress(messages, model=_MODEL, kompress_model="disabled")

        return job

    return turn


PEER = Peer(packages=("headroom-ai",), ways={"Headroom compress, without its model": compressing})
