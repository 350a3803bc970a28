"""A turn of calls comes directly after the user, or after the results of other calls."""

from collections.abc import Iterator, Mapping
from typing import ClassVar

from redline.laws.law import Broken, History

__all__ = ["TurnOrder"]


class TurnOrder:
    """A turn of calls comes directly after the user, or after the results of other calls (google-gemini/gemini-cli#26486)."""

    name: ClassVar[str] = "turn_order"
    rules: ClassVar[Mapping[str, str]] = {
        "gemini": "a function call turn comes immediately after a user turn or after a function response turn",
    }

    def broken(self, history: History) -> Iterator[Broken]:
        """Messages with calls that follow another of the model's."""
        is_after_model = False
        for index, message in enumerate(history.messages):
            if message.role == "system":
                continue
            if is_after_model and message.role == "assistant" and message.calls:
                yield Broken(index, None, "the call comes after another turn of the model")
            is_after_model = message.role == "assistant"
