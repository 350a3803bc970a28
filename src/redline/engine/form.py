"""The form in which a message is sent, worked out when someone looks at it."""

from typing import Final

from redline import payloads
from redline.engine.state import State
from redline.log.records import Strike
from redline.messages import Message
from redline.rules.rule import Mark
from redline.rules.strike import strike as carry_out

__all__ = ["Form"]


class Form:
    """A message of the record with its strikes carried out, or one that the repair made. Never changes once made."""

    __slots__ = ("_index", "_message", "_state", "_version", "strikes")

    def __init__(self, state: State, index: int, strikes: tuple[Strike, ...]) -> None:
        self._state, self._index, self._version = state, index, state.view.version_of(index)
        self.strikes = strikes
        self._message: Message | _Unknown | None = _UNKNOWN

    @classmethod
    def of(cls, state: State, message: Message) -> "Form":
        """A message as it is."""
        form = cls(state, -1, ())
        form._message = message
        return form

    @property
    def message(self) -> Message | None:
        """The message; None if nothing is left of it."""
        return self.work_out()

    @property
    def native(self) -> bytes:
        """The bytes to send; none if nothing is left of it. What was not struck is sent as it was given, unread."""
        if isinstance(self._message, _Unknown) and not self.strikes:
            return self._state.payload_of(self._index, self._version)
        message = self.message
        return b"" if message is None else payloads.encoded(message.native)

    def work_out(self) -> Message | None:
        """The message, now rather than later; ValidationError if the format has no way to say a strike."""
        if isinstance(self._message, _Unknown):
            self._message = self._struck()
        return self._message

    def _struck(self) -> Message | None:
        message = self._state.message(self._index, self._version)
        if not self.strikes:
            return message
        marks = [Mark(one.rule, one.index, one.at, one.replacement, one.because) for one in self.strikes]
        return carry_out(message, marks, self._state.format)


class _Unknown:
    """Stands for a message that nobody has looked at."""


_UNKNOWN: Final = _Unknown()
