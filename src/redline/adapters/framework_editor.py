"""What the adapters share: the Editor asked about a framework's messages, and never in the way of its model calls."""

import logging
import os
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from redline.editor import EditedRequest, Editor
from redline.errors import RedlineError, ValidationError
from redline.formats.usage import Usage
from redline.policy import Policy
from redline.values import payloads
from redline.wire.editing import REFUSALS, wire_policy

__all__ = ["CallSettings", "CallsUnderWay", "EditedCall", "FrameworkEditor", "origins_of", "rewritten_parts"]

_logger = logging.getLogger("redline.adapters")

_MOST_CALLS = 1_000
"""Model calls under way at a time, as far as they are remembered: one that was cancelled is never answered."""
_MOST_MESSAGES = 50_000
"""Messages of the framework that are remembered."""

K = TypeVar("K")
M = TypeVar("M")
P = TypeVar("P")
Block = dict[str, Any]


@dataclass(frozen=True, slots=True)
class CallSettings:
    """What the Editor is told of one call of a model, besides the messages: see `Editor.edit`."""

    model: str = ""
    preamble: object = None
    session: str = ""
    lifetime: str = ""
    times: Sequence[float | None] = ()
    """Where the messages do not say theirs themselves."""


@dataclass(frozen=True, slots=True)
class EditedCall(Generic[M]):
    """What to send in one call of a model."""

    messages: Sequence[M]
    """The framework's own objects, but for those that were struck or repaired; its own list where nothing was."""
    request: EditedRequest | None = None
    """What the Editor made of them; None where it could not be asked."""


class CallsUnderWay(Generic[K, M]):
    """The calls that are not answered yet, for frameworks that tell of question and answer in two places."""

    def __init__(self) -> None:
        self._calls: OrderedDict[K, EditedCall[M]] = OrderedDict()

    def begin(self, key: K, call: EditedCall[M]) -> None:
        """Remember a call; the oldest is forgotten where there are too many."""
        self._calls[key] = call
        while len(self._calls) > _MOST_CALLS:
            self._calls.popitem(last=False)

    def end(self, key: K) -> EditedCall[M] | None:
        """The call, which is over now; None if it is not known."""
        return self._calls.pop(key, None)


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
    looks at: while these are the same, it is not read again. It is found again by `key`, for frameworks that hand over new
    objects at each call; messages with one key and the same fields are taken for one. `time_of` is the time of a message, in
    milliseconds since 1970.
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
        key: Callable[[M], Hashable] = id,
        time_of: Callable[[M], float | None] | None = None,
    ) -> None:
        if isinstance(store, Editor) and policy is not None:
            raise ValidationError("An Editor has its own policy. Pass the policy to the Editor, or leave the Editor out.")
        self.editor = store if isinstance(store, Editor) else Editor(store, policy=policy or wire_policy())
        self._format, self._read, self._write = format, read, write
        self._fields, self._key, self._time_of = fields, key, time_of
        self._seen: dict[Hashable, _SeenMessage[M]] = {}

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
                times=[one.time for one in seen] if self._time_of else settings.times,
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
        status = _status_of(problem)
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
        known_at, key_of, fields_of = self._seen.get, self._key, self._fields
        for message in messages:
            key, fields = key_of(message), fields_of(message)
            known = known_at(key)
            if known is None or known.fields != fields:
                payload = payloads.encode(self._read(message))
                known = _SeenMessage(message, fields, payload, self._time_of(message) if self._time_of else None)
                if len(self._seen) >= _MOST_MESSAGES:
                    self._seen.clear()
                self._seen[key] = known
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
            for position, payload in zip(request.positions, request.said, strict=True):
                if position is None:
                    sent += self._write(None, payloads.decode(payload))
                elif payload is (own := seen[position]).payload:
                    sent.append(messages[position])
                else:
                    if own.changed != payload:
                        own.changed, own.made = b"", self._write(messages[position], payloads.decode(payload))
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


def _status_of(problem: Exception) -> object:
    """What the provider answered, as the SDKs of Anthropic and OpenAI, of AWS, and of Google say it."""
    response = getattr(problem, "response", None)
    about: object = response.get("ResponseMetadata") if isinstance(response, dict) else None
    of_aws = about.get("HTTPStatusCode") if isinstance(about, dict) else None
    return getattr(problem, "status_code", None) or of_aws or getattr(problem, "code", None)


def rewritten_parts(
    parts: Sequence[tuple[P, Block | None]],
    blocks: Sequence[Block],
    *,
    rewrite: Callable[[P, Block], P],
    compose: Callable[[Block], P],
) -> list[P]:
    """The parts of a message that was changed: its own, given with the block that each is read as, and what the blocks say now.

    Parts that are not changed are the same objects; those without a block are not looked at, and stay. What is new, such as
    answers to calls that were left open, comes before the rest.
    """
    said = [(part, block) for part, block in parts if block is not None]
    origins = origins_of(blocks, [block for _, block in said])
    added = [compose(block) for place, block in zip(origins, blocks, strict=True) if place is None]
    now = {id(said[place][0]): block for place, block in zip(origins, blocks, strict=True) if place is not None}
    kept = [(part, before, now.get(id(part))) for part, before in parts if before is None or id(part) in now]
    return [*added, *(part if after is None or after == before else rewrite(part, after) for part, before, after in kept)]


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
