"""What a user asked first, told apart from what agents put in front of it in the user's name."""

import re
from collections.abc import Iterable, Iterator

from redline.values.messages import Message, Text

__all__ = ["first_words", "user_texts", "user_words"]

_MOST_CHARACTERS = 120
_SEARCHED_CHARACTERS = 2_000
_SURROUNDINGS = re.compile(r"^(?:<([\w-]+)[^<>]*>.*?</\1>\s*)+")
_NOT_THE_USER = ("<", "Caveat:", "# AGENTS.md", "# Context from my IDE")
"""How texts begin that agents send in the user's name: surroundings, reminders, instructions."""


def first_words(messages: Iterable[Message]) -> str:
    """The beginning of what the user asked first; of what the agent put in front of it, if there is nothing else."""
    found = ""
    for text in user_texts(messages):
        words, is_own = user_words(text)
        if is_own:
            return words
        found = found or words
    return found


def user_texts(messages: Iterable[Message]) -> Iterator[str]:
    """All that was said in the user's name."""
    for message in messages:
        if message.role == "user":
            yield from (part.text for part in message.parts if isinstance(part, Text))


def user_words(text: str) -> tuple[str, bool]:
    """The beginning of a text in one line, and whether it is the user's own."""
    words = " ".join(text[:_SEARCHED_CHARACTERS].split())
    own = _SURROUNDINGS.sub("", words)
    is_own = bool(own) and not own.startswith(_NOT_THE_USER)
    shown = own if is_own else words
    return shown if len(shown) <= _MOST_CHARACTERS else shown[: _MOST_CHARACTERS - 1] + "…", is_own
