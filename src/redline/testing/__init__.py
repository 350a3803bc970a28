"""Tools for tests: a conversation in one line, and (with the extra `testing`) Hypothesis strategies for every format."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from redline.testing.builders import Turn, asks, conversation, says

if TYPE_CHECKING:
    from redline.testing.strategies import conversations, json_values, turns

__all__ = ["Turn", "asks", "conversation", "conversations", "json_values", "says", "turns"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'redline.testing' has no attribute {name!r}")
    return getattr(import_module("redline.testing.strategies"), name)
