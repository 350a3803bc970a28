"""What the adapters share: the Editor asked about a framework's messages, and never in the way of its model calls."""

import logging
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from redline.editor import EditedRequest, Editor
from redline.errors import RedlineError, ValidationError
from redline.formats.usage import Usage
from redline.policy import Policy
from redline.values import payloads
from redline.wire.editing import REFUSALS, wire_policy

__all__ = ["CallSettings", "EditedCall", "FrameworkEditor", "origins_of"]

_logger = logging.getLogger("redline.adapters")

_MOST_MESSAGES = 50_000
"""Messages of the framework that are remembered."""

M = TypeVar("M")
Block = dict[str, Any]


@dataclass(frozen=True, slots=True)
class CallSettings:
    """What the Editor is told of one call of a model, besides the messages: see `Editor.edit`."""

    model: str = ""
    preamble: object = None
    session: str = ""
    lifetime: str = ""


@dataclass(frozen=True, slots=True)
class EditedCall(Generic[M]):
    """What to send in one call of a model."""

    messages: Sequence[M]
    """The framework's own objects, but for those that were struck or repaired; its own list where nothing was."""
    request: EditedRequest | None = None
    """What the Editor made of them; None where it could not be asked."""


@dataclass(slots=True)
class _SeenMessage(Generic[M]):
    """A message of the framework, held so that its id stays its own: what it was read as, and what was last made of it."""

    message: M
    fields: Sequence[object]
    """The values that it was read from."""
    payload: bytes
    time: float | None
    changed: bytes = b""
    """What it said when it was last sent changed."""
    made: Sequence[M] = ()
    """The messages that say so."""


class FrameworkEditor(Generic[M]):
    """Asks the Editor about messages of a framework. Whatever goes wrong here is logged, and the call goes on without it.

    `read` gives a message as one of `format`. `write` makes messages of the framework of one that was changed: its own
    message, or None where the repair made a new one; and what it says now. `fields` gives the values of a message that `read`
    looks at: while these are the same, it is not read again. `time_of` is its time, in milliseconds since 1970.
    """

    def __init__(
        self,
        store: str | os.PathLike[str] | Editor | None,
        policy: Policy | str | None,
        *,
        format: str,
        read: Callable[[M], Block],
        write: Callable[[M | None, Block], Sequence[M]],
        fields: Callable[[M], Sequence[object]],
        time_of: Callable[[M], float | None] | None = None,
    ) -> None:
        if isinstance(store, Editor) and policy is not None:
            raise ValidationError("An Editor has its own policy. Pass the policy to the Editor, or leave the Editor out.")
        self.editor = store if isinstance(store, Editor) else Editor(store, policy=policy or wire_policy())
        self._format, self._read, self._write, self._fields, self._time_of = format, read, write, fields, time_of
        self._seen: dict[int, _SeenMessage[M]] = {}
        """By the id of the message."""

    def edit(self, messages: Sequence[M], read_settings: Callable[[], CallSettings]) -> EditedCall[M]:
        """What to send in place of the messages: if no rule can be asked, what was struck before; if not even that, all."""
        try:
            settings = read_settings()
            seen = self._seen_messages(messages)
        except Exception as problem:
            _log_failure("The messages are sent as they are: one could not be read", problem)
            return EditedCall(messages)
        given = [one.payload for one in seen]
        try:
            request = self.editor.edit(
                given,
                format=self._format,
                session=settings.session,
                model=settings.model or None,
                preamble=settings.preamble,
                lifetime=settings.lifetime,
                times=[one.time for one in seen] if self._time_of else (),
            )
        except Exception as problem:
            _log_failure("The messages could not be edited; what is recorded for them is kept", problem)
            return self._retreat(messages, seen, settings.session)
        return self._written(messages, seen, request)

    def answered(self, call: EditedCall[M], read_usage: Callable[[], Usage | None]) -> None:
        """What the provider reported for a call; None if it reported nothing."""
        if call.request is not None:
            try:
                if usage := read_usage():
                    self.editor.report(call.request, usage)
            except Exception as problem:
                _log_failure("The usage of a call could not be recorded", problem)

    def failed(self, call: EditedCall[M], problem: Exception) -> None:
        """The call raised an error. A history that was changed and then refused is left alone from now on."""
        status = getattr(problem, "status_code", None)
        if call.request is None or not call.request.is_changed or status not in REFUSALS:
            return
        try:
            self.editor.leave_alone(call.request, f"the provider answered {status} to messages that were changed")
        except Exception as trouble:
            _log_failure("It could not be recorded that the provider refused changed messages", trouble)

    def recall(self, reference: str, lines: str = "", grep: str = "") -> str:
        """Reads back a tool result that was stored elsewhere. The stub in its place names the reference.

        Ask for some lines or for a pattern rather than for all of it.

        Args:
            reference: The reference, exactly as the stub gives it.
            lines: Which lines, counted from 1: 10-40, 10- or -20 for the last twenty.
            grep: A regular expression; only lines in which it is found are shown.
        """
        try:
            return self.editor.recall(reference, lines=lines or None, grep=grep or None)
        except RedlineError as problem:  # the words are for the model
            return str(problem)

    def _seen_messages(self, messages: Sequence[M]) -> list[_SeenMessage[M]]:
        """The messages as they were read, now or before."""
        seen: list[_SeenMessage[M]] = []
        known_at, fields_of = self._seen.get, self._fields
        for message in messages:
            known, fields = known_at(id(message)), fields_of(message)
            if known is None or known.message is not message or known.fields != fields:
                payload = payloads.encode(self._read(message))
                known = _SeenMessage(message, fields, payload, self._time_of(message) if self._time_of else None)
                if len(self._seen) >= _MOST_MESSAGES:
                    self._seen.clear()
                self._seen[id(message)] = known
            seen.append(known)
        return seen

    def _retreat(self, messages: Sequence[M], seen: list[_SeenMessage[M]], session: str) -> EditedCall[M]:
        try:
            request = self.editor.recorded([one.payload for one in seen], session=session, format=self._format)
        except Exception as problem:
            _log_failure("The messages are sent as they are: what is recorded for them could not be read", problem)
            return EditedCall(messages)
        return self._written(messages, seen, request)

    def _written(self, messages: Sequence[M], seen: list[_SeenMessage[M]], request: EditedRequest) -> EditedCall[M]:
        """The pieces of a request as the framework's messages; all as it was if one cannot be said in them."""
        if not request.is_changed:
            return EditedCall(messages, request)
        sent: list[M] = []
        try:
            for position, payload in request.pieces:
                if position is None:
                    sent += self._write(None, payloads.decode(payload))
                elif payload is (own := seen[position]).payload:
                    sent.append(own.message)
                else:
                    if own.changed != payload:
                        own.changed, own.made = b"", self._write(own.message, payloads.decode(payload))
                        own.changed = payloads.encoded(payload)
                    sent += own.made
        except Exception as problem:
            _log_failure("The messages are sent as they are: a change cannot be said in them", problem)
            self._withdraw(request)
            return EditedCall(messages)
        return EditedCall(sent, request)

    def _withdraw(self, request: EditedRequest) -> None:
        try:
            self.editor.withdraw(request)
        except Exception as problem:
            _log_failure("Strikes that were never sent could not be withdrawn", problem)


def origins_of(after: Sequence[Block], before: Sequence[Block]) -> list[int | None]:
    """For each block of a changed message, the place of the one that it was; None for one that is new."""
    if len(after) == len(before):
        return list(range(len(after)))
    places: list[int | None] = []
    start = 0
    for block in after:
        left = range(start, len(before))
        same = (place for place in left if before[place] == block)
        changed = (place for place in left if before[place].get("type") == block.get("type") and before[place] not in after)
        place = next(same, None)
        places.append(next(changed, None) if place is None else place)
        start = start if places[-1] is None else places[-1] + 1
    return places


def _log_failure(said: str, problem: Exception) -> None:
    """A store that cannot be used says itself what is wrong; of a mistake of ours one must know where it was made."""
    is_told = isinstance(problem, RedlineError | OSError)
    _logger.error(f"{said}: %s", problem, exc_info=None if is_told else problem)
