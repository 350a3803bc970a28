"""Tools for tests: a conversation in one line, a provider to talk to, and (with the extra `testing`) Hypothesis strategies."""

from importlib import import_module
from typing import TYPE_CHECKING

from redline.testing.builders import Turn, asks, conversation, says
from redline.testing.provider import FakeProvider, fake_provider
from redline.testing.provider_cache import ProviderCache

if TYPE_CHECKING:
    from redline.testing.strategies import conversations, hostile_messages, json_values, turns

__all__ = [
    "FakeProvider",
    "ProviderCache",
    "Turn",
    "asks",
    "conversation",
    "conversations",
    "fake_provider",
    "hostile_messages",
    "json_values",
    "says",
    "turns",
]


if not TYPE_CHECKING:  # a type checker would take any name for one of ours

    def __getattr__(name: str) -> object:
        if name not in __all__:
            raise AttributeError(f"module 'redline.testing' has no attribute {name!r}")
        return getattr(import_module("redline.testing.strategies"), name)
