"""Headroom: the compression pipeline with its defaults, but for the model of its text compressor, which it would download."""

from collections.abc import Sequence
from typing import Any

from headroom import compress

from bench.peers.peer import Message, Peer, Turn

__all__ = ["PEER"]

_MODEL = "claude-sonnet-4-5-20250929"


def compressing(history: Sequence[Message]) -> Turn:
    """`compress`, told how many messages were in the request before and must stay, as its documentation advises."""
    messages = [{key: value for key, value in message.items() if key != "timestamp"} for message in history]
    has_sent: list[bool] = []

    def turn(message: Message) -> Any:
        def job() -> object:
            sent = len(messages) if has_sent else 0
            has_sent.append(True)
            messages.append(message)
            return compress(messages, model=_MODEL, kompress_model="disabled", frozen_message_count=sent)

        return job

    return turn


PEER = Peer(packages=("headroom-ai",), ways={"Headroom compress, without its model": compressing})
