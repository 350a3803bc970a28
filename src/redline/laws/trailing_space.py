"""An answer that the caller begins does not end in white space."""

from collections.abc import Iterator, Mapping
from typing import ClassVar

from redline.laws.law import Broken, History
from redline.values.messages import Message, Text

__all__ = ["TrailingSpace", "ends_in_space"]


class TrailingSpace:
    """An answer that the caller begins, the last message, does not end in white space (langchain-ai/langchain#35071)."""

    name: ClassVar[str] = "trailing_space"
    rules: ClassVar[Mapping[str, str]] = {
        "anthropic": "final assistant content cannot end with trailing whitespace",
    }

    def broken(self, history: History) -> Iterator[Broken]:
        """The last message, if it is the assistant's and ends so."""
        if history.messages and ends_in_space(history.messages[-1]):
            last = history.messages[-1]
            yield Broken(len(history.messages) - 1, len(last.parts) - 1, "the last words end in white space")


def ends_in_space(message: Message) -> bool:
    """Whether a message of the assistant ends in white space."""
    if message.role != "assistant" or not message.parts:
        return False
    last = message.parts[-1]
    return isinstance(last, Text) and last.text != last.text.rstrip()
