"""One thing that a repair does to a session file, or cannot do for it, with its place and its reason."""

from typing import Literal

import msgspec

from redline.values.messages import Message

__all__ = ["Action", "Fix", "LostRecord", "excerpt"]

Action = Literal["remove", "change", "add", "move"]

_SIGNS: dict[Action, str] = {"remove": "-", "change": "~", "add": "+", "move": "^"}
_EXCERPT_CHARACTERS = 60


class Fix(msgspec.Struct, frozen=True):
    """What happens to one record of the file."""

    action: Action
    why: str
    line: int | None = None
    """In the file as it was, counted from 1; of a record that is added, the line that it comes after."""
    message: int | None = None
    """Its number in a file that is a list of messages, from 0; of one that is added, the number of the one before, or -1."""
    tool: str | None = None
    call_id: str | None = None
    text: str = ""
    """The beginning of what the message says."""

    @classmethod
    def for_message(cls, action: Action, why: str, message: Message, *, line: int | None, number: int | None = None) -> "Fix":
        """What happens to the record of this message. A crash leaves the last call open, so that is the call it names."""
        tool = call_id = None
        if message.calls:
            tool, call_id = message.calls[-1].name, message.calls[-1].id
        elif message.results:
            tool, call_id = message.results[0].name, message.results[0].call_id
        return cls(action, why, line, number, tool, call_id, excerpt(message.text))

    @property
    def place(self) -> str:
        """Where, in words."""
        places = (("line", self.line), ("message", self.message))
        named = ", ".join(f"{what} {number}" for what, number in places if number is not None)
        return f"after {named}" if self.action == "add" else named

    def __str__(self) -> str:
        quoted = f' "{self.text}"' if self.text else ""
        return _printable(f"{_SIGNS[self.action]} {self.place}: {self.why}{quoted}")


class LostRecord(msgspec.Struct, frozen=True):
    """Something that a person may miss in the conversation that goes on. No repair can give it back."""

    why: str
    line: int | None = None
    """Where, counted from 1."""

    def __str__(self) -> str:
        return _printable(f"! {self.why}")


def excerpt(text: str) -> str:
    """The beginning of a text, in one line."""
    words = _printable(" ".join(text[: _EXCERPT_CHARACTERS * 4].split()))
    return words if len(words) <= _EXCERPT_CHARACTERS else words[: _EXCERPT_CHARACTERS - 1] + "…"


def _printable(text: str) -> str:
    """Without escape sequences, which could change what the reader's terminal shows."""
    return "".join(character for character in text if character.isprintable())
