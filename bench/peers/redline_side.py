"""Redline as it is measured beside each peer."""

from collections.abc import Sequence
from typing import Any

import redline
from bench.peers.peer import Message, Repair, Turn, Way
from redline.policy.presets import PresetName

__all__ = ["REDLINE_REPAIRS", "REDLINE_WAYS", "UNREPAIRED"]


def _way(preset: PresetName | None, made: str) -> Way:
    """With a preset or the default policy; what is made of the request is a part of it: nothing, its bytes, or its messages."""

    def begin(history: Sequence[Message]) -> Turn:
        conversation = redline.Conversation(history, policy=preset, format="openai_chat")

        def turn(message: Message) -> Any:
            def job() -> object:
                conversation.add(message)
                request = conversation.request(now=message["timestamp"])
                return getattr(request, made) if made else request

            return job

        return turn

    return begin


REDLINE_WAYS: dict[str, Way] = {
    "Redline's default policy, decided": _way(None, ""),
    "Redline, decided": _way("balanced", ""),
    "Redline, as bytes": _way("balanced", "body"),
    "Redline, as messages": _way("balanced", "messages"),
}
"""What is sent is worked out when someone looks: the peers give a list of their objects, the wire takes bytes. The default
policy goes by age and order, as the peers' do; `balanced` weighs what will be used again."""


def _to_anthropic(history: Sequence[Message]) -> list[Any]:
    converted = redline.convert(list(history), source="openai_chat", target="anthropic")
    return redline.make_legal(converted.messages, format="anthropic", strategy="answer")


REDLINE_REPAIRS: dict[tuple[str, str], Repair] = {
    ("Redline", "openai_chat"): lambda history: redline.make_legal(history, format="openai_chat", strategy="answer"),
    ("Redline", "anthropic"): _to_anthropic,
}
UNREPAIRED: dict[tuple[str, str], Repair] = {("(as they are)", "openai_chat"): list}
