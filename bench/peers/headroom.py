"""Headroom: the compression pipeline with its defaults, without the model that it would download."""

from collections.abc import Sequence
from typing import Any

from headroom import compress, densify

from bench.peers.peer import Message, Peer, Turn, Way

__all__ = ["PEER"]

_MODEL = "claude-sonnet-4-5-20250929"


def _way(pipeline: Any, **settings: Any) -> Way:
    def begin(history: Sequence[Message]) -> Turn:
        messages = [{key: value for key, value in message.items() if key != "timestamp"} for message in history]

        def turn(message: Message) -> Any:
            def job() -> object:
                messages.append(message)
                return pipeline(messages, model=_MODEL, **settings)

            return job

        return turn

    return begin


PEER = Peer(
    packages=("headroom-ai",),
    ways={"Headroom compress, no model": _way(compress, kompress_model="disabled"), "Headroom densify": _way(densify)},
)
