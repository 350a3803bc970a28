"""What the adapters share: the Editor asked about a framework's messages, and never in the way of its model calls."""

import logging
import os
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Any, Generic, TypeVar

from redline.editor import EditedRequest, Editor
from redline.errors import RedlineError, ValidationError
from redline.formats.usage import Usage
from redline.policy import Policy
from redline.values import payloads
from redline.values.checks import check_text
from redline.wire.editing import REFUSALS, wire_policy

__all__ = ["CallSettings", "CallsUnderWay", "EditedCall", "FrameworkEditor", "GivenMessages", "origins_of", "rewritten_parts"]

_logger = logging.getLogger("redline.adapters")

_MOST_CALLS = 1_000
"""Model calls under way at a time, as far as they are remembered: one that was cancelled is never answered."""
_MOST_MESSAGES = 50_000
"""Messages of the framework that are remembered."""
_MOST_COPIED = 5
"""Levels of lists and dicts in a message in which a change is seen."""
_MOST_SESSIONS = 64
"""Whose last calls are remembered."""

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
    time_of: Callable[[Any], float | None] | None = None
    """The time of a message, in milliseconds since 1970, where that can be known; asked once for each."""


@dataclass(frozen=True, slots=True)
class EditedCall(Generic[M]):
    """What to send in one call of a model."""

    messages: Sequence[M]
    """The framework's own objects, but for those that were struck or repaired; its own list where nothing was."""
    request: EditedRequest | None = None
    """What the Editor made of them; None where it could not be asked."""
    lifetime: str = ""
    """How long the provider is asked to keep its cache."""


class GivenMessages(Generic[M]):
    """The messages of one call of a model. A message that the repair makes of several is made of their own parts."""

    def __init__(self, messages: Sequence[M] = ()) -> None:
        self._messages = messages
        self._results: dict[str, list[tuple[Any, Block]]] | None = None
        self._tools: dict[str, str] = {}

    def result(self, block: Block, blocks_of: Callable[[M], Sequence[tuple[P, Block | None]]]) -> tuple[P, Block] | None:
        """The part that answers the same call as a block, and what that part was read as; None if there is no such part.

        Where several parts answer a call of this id, the one that says what the block says.
        """
        found = self._read(blocks_of).get(_answered_call(block), [])
        return next((one for one in found if one[1] == block), found[0] if found else None)

    def tool_of(self, block: Block, blocks_of: Callable[[M], Sequence[tuple[P, Block | None]]]) -> str:
        """The name of the tool whose call a block answers; `tool` if there is no such call."""
        self._read(blocks_of)
        return self._tools.get(_answered_call(block), "tool")

    def _read(self, blocks_of: Callable[[M], Sequence[tuple[P, Block | None]]]) -> dict[str, list[tuple[P, Block]]]:
        """All results by the calls that they answer, found when the first is asked for."""
        if self._results is None:
            self._results = {}
            for part, block in (pair for message in self._messages for pair in blocks_of(message)):
                if block is None:
                    continue
                if (call := _answered_call(block)) and block["type"] in _RESULTS:
                    self._results.setdefault(call, []).append((part, block))
                elif block["type"] in _CALLS:
                    self._tools[block.get("id") or block["toolCallId"]] = block.get("name") or block["toolName"]
        return self._results


_RESULTS = ("tool_result", "tool-result")
_CALLS = ("tool_use", "tool-call")


def _answered_call(block: Block) -> str:
    """The id in a result of Anthropic's format or of the AI SDK's."""
    return str(block.get("tool_use_id") or block.get("toolCallId") or "")


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
    fields: object
    """What it was read from, as it was then."""
    payload: bytes
    time: float | None
    changed: bytes = b""
    """What it said when it was last sent changed."""
    made: Sequence[M] = ()
    """The messages that say so."""


@dataclass(frozen=True, slots=True)
class _SeenList(Generic[M]):
    """The messages of a call of the model: those of the next one are mostly the same."""

    messages: list[_SeenMessage[M]]
    fields: list[object]
    payloads: list[bytes]
    times: list[float | None]


_NOTHING_SEEN: _SeenList[Any] = _SeenList([], [], [], [])


class FrameworkEditor(Generic[M]):
    """Asks the Editor about messages of a framework. Whatever goes wrong here is logged, and the call goes on without it.

    `read` gives a message as one of `format`. `write` makes messages of the framework of one that was changed: its own
    message, or None where the repair made a new one; what it says now; and all messages of the call. `fields` gives what
    `read` looks at, in lists, tuples and dicts: while all in them is the same, a message is not read again. One that comes at
    another place than in the call before is found by `key`; messages with one key and the same fields are taken for one.
    """

    def __init__(
        self,
        store: str | os.PathLike[str] | Editor | None,
        policy: Policy | str | None,
        *,
        format: str,
        read: Callable[[M], Block],
        write: Callable[[M | None, Block, GivenMessages[M]], Sequence[M]],
        fields: Callable[[M], object],
        key: Callable[[M], Hashable] = id,
        namespace: str = "",
    ) -> None:
        if isinstance(store, Editor) and policy is not None:
            raise ValidationError("An Editor has its own policy. Pass the policy to the Editor, or leave the Editor out.")
        self.editor = store if isinstance(store, Editor) else Editor(store, policy=policy or wire_policy())
        self._format, self._read, self._write = format, read, write
        self._fields, self._key = fields, key
        self._namespace = check_text("namespace", namespace)
        self._seen: dict[Hashable, _SeenMessage[M]] = {}
        self._last: OrderedDict[str, _SeenList[M]] = OrderedDict()
        """By session, the messages of its last call."""

    def edit(self, messages: Sequence[M], read_settings: Callable[[], CallSettings]) -> EditedCall[M]:
        """What to send in place of the messages: if no rule can be asked, what was struck before; if not even that, all."""
        try:
            settings = read_settings()
            seen = self._seen_messages(messages, settings)
        except Exception as problem:
            _log_failure("The messages are sent as they are: one could not be read", problem)
            return EditedCall(messages)
        try:
            request = self.editor.edit(
                seen.payloads,
                format=self._format,
                session=settings.session,
                namespace=self._namespace,
                model=settings.model or None,
                preamble=settings.preamble,
                lifetime=settings.lifetime,
                times=seen.times,
            )
        except Exception as problem:
            _log_failure("The messages could not be edited; what is recorded for them is kept", problem)
            return self._retreat(messages, seen, settings.session)
        return replace(self._written(messages, seen, request), lifetime=settings.lifetime)

    def answered(self, call: EditedCall[M], read_usage: Callable[[], Usage | None]) -> None:
        """What the provider reported for a call; None if it reported nothing."""
        if call.request is not None:
            try:
                if usage := read_usage():
                    self.editor.report(call.request, usage.written_for(call.lifetime))
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

    def _seen_messages(self, messages: Sequence[M], settings: CallSettings) -> _SeenList[M]:
        """The messages as they were read, now or before."""
        session, time_of = settings.session, settings.time_of
        before, now = self._last.get(session, _NOTHING_SEEN), list(map(self._fields, messages))
        count = len(before.fields)
        if _are_same(now[:count], before.fields):
            seen = [self._find(*one, time_of) for one in zip(messages[count:], now[count:], strict=True)]
        else:
            seen = [
                one if one is not None and _are_same(one.fields, fields) else self._find(message, fields, time_of)
                for message, fields, one in zip_longest(messages, now, before.messages[: len(now)])
            ]
            before = _NOTHING_SEEN
        found = _SeenList(
            before.messages + seen,
            before.fields + [one.fields for one in seen],
            before.payloads + [one.payload for one in seen],
            before.times + [one.time for one in seen],
        )
        self._last[session] = found
        if len(self._last) > _MOST_SESSIONS:
            self._last.popitem(last=False)
        return found

    def _find(self, message: M, fields: object, time_of: Callable[[M], float | None] | None) -> _SeenMessage[M]:
        key = self._key(message)
        known = self._seen.get(key)
        if known is None or not _are_same(known.fields, fields):
            payload = payloads.encode(self._read(message))
            known = _SeenMessage(message, _copied(fields), payload, time_of(message) if time_of else None)
            if len(self._seen) >= _MOST_MESSAGES:
                self._seen.clear()
            self._seen[key] = known
        return known

    def _retreat(self, messages: Sequence[M], seen: _SeenList[M], session: str) -> EditedCall[M]:
        try:
            request = self.editor.recorded(seen.payloads, session=session, namespace=self._namespace, format=self._format)
        except Exception as problem:
            _log_failure("The messages are sent as they are: what is recorded for them could not be read", problem)
            return EditedCall(messages)
        return self._written(messages, seen, request)

    def _written(self, messages: Sequence[M], seen: _SeenList[M], request: EditedRequest) -> EditedCall[M]:
        """What a request says in the framework's messages; all as it was if that cannot be said in them."""
        if not request.is_changed:
            return EditedCall(messages, request)
        sent: list[M] = []
        given = GivenMessages(messages)
        try:
            for position, payload in zip(request.positions, request.said, strict=True):
                if position is None:
                    sent += self._write(None, payloads.decode(payload), given)
                elif payload is seen.payloads[position]:
                    sent.append(messages[position])
                else:
                    sent += self._changed(seen.messages[position], messages[position], payloads.encoded(payload), given)
        except Exception as problem:
            _log_failure("The messages are sent as they are: a change cannot be said in them", problem)
            self._withdraw(request)
            return EditedCall(messages)
        return EditedCall(sent, request)

    def _changed(self, seen: _SeenMessage[M], message: M, payload: bytes, given: GivenMessages[M]) -> Sequence[M]:
        """The messages that say it, made once."""
        if seen.changed != payload:
            seen.changed, seen.made = b"", self._write(message, payloads.decode(payload), given)
            seen.changed = payload
        return seen.made

    def _withdraw(self, request: EditedRequest) -> None:
        try:
            self.editor.withdraw(request)
        except Exception as problem:
            _log_failure("Strikes that were never sent could not be withdrawn", problem)


def _are_same(fields: object, others: object) -> bool:
    try:
        return bool(fields == others)
    except Exception:  # values of programs that cannot be compared
        return False


def _copied(value: object, depth: int = _MOST_COPIED) -> object:
    """The value with lists and dicts of its own, so that a change in those is seen, as far as anybody makes one."""
    if depth == 0:
        return value
    if isinstance(value, dict):
        return {key: _copied(one, depth - 1) for key, one in value.items()}
    if isinstance(value, list | tuple):
        copies = [_copied(one, depth - 1) for one in value]
        return copies if isinstance(value, list) else tuple(copies)
    return value


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
