"""The core of the adapters: the Editor asked about a framework's messages, and never in the way of its model calls.

An adapter says how its framework's messages are read and written (a `MessageMapping`, mostly `PartMessages`), where a call of
the model begins and ends (`FrameworkEditor.edit`, `answered`, `failed`), and what the framework knows of it (`CallSettings`).
"""

import logging
import os
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Any, ClassVar, Generic, TypeVar

from redline.conversation.editor import EditedRequest, Editor
from redline.errors import RedlineError
from redline.policy.policy import Policy
from redline.policy.presets import PresetName
from redline.providers.usage import Usage
from redline.transport.editing import REFUSALS, make_editor
from redline.values import payloads
from redline.values.checks import check_text

_logger = logging.getLogger("redline.adapters")

_MOST_CALLS = 1_000
"""Model calls under way at a time, as far as they are remembered: one that was cancelled is never answered."""
_MOST_MESSAGES = 50_000
"""Messages of the framework that are remembered."""
_MOST_COPIED = 5
"""Levels of lists and dicts in a message in which a change is seen."""
_MOST_SESSIONS = 64
"""Whose last calls are remembered."""

M = TypeVar("M")
P = TypeVar("P")
Block = dict[str, Any]


@dataclass(frozen=True, slots=True)
class CallSettings:
    """What the Editor is told of one call of a model, besides the messages: see `Editor.edit`."""

    model: str = ""
    preamble: object = None
    session: str = ""
    lifetime: object = ""
    """How long the provider keeps its cache, as the framework's settings say it; all but `5m` and `1h` counts as unknown."""
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

    def find(
        self, result: Block, parts_of: Callable[[M], Sequence[tuple[P, Block | None]]]
    ) -> tuple[tuple[P, Block] | None, str]:
        """The part that answers the same call as a result, with its block, and the tool that was called.

        Where several parts answer a call of this id, the one that says what the result says; None if there is none.
        """
        if self._results is None:
            self._results = {}
            for part, block in (pair for message in self._messages for pair in parts_of(message)):
                if block is None:
                    continue
                if (call := _answered_call(block)) and block["type"] in _RESULTS:
                    self._results.setdefault(call, []).append((part, block))
                elif block["type"] in _CALLS:
                    self._tools[block.get("id") or block["toolCallId"]] = block.get("name") or block["toolName"]
        call = _answered_call(result)
        found = self._results.get(call, [])
        return next((one for one in found if one[1] == result), found[0] if found else None), self._tools.get(call, "tool")


_RESULTS = ("tool_result", "tool-result")
_CALLS = ("tool_use", "tool-call")


def _answered_call(block: Block) -> str:
    """The id in a result of Anthropic's format or of the AI SDK's."""
    return str(block.get("tool_use_id") or block.get("toolCallId") or "")


class MessageMapping(Generic[M]):
    """How the messages of a framework are read as messages of a format of Redline's, and written back."""

    format: ClassVar[str]

    def read(self, message: M) -> Block:
        """The message in the format."""
        raise NotImplementedError

    def write(self, message: M | None, payload: Block, given: GivenMessages[M]) -> Sequence[M]:
        """Messages of the framework for one that was changed: its own, or None where the repair made a new one; what it says
        now; and all messages of the call."""
        raise NotImplementedError

    def fields(self, message: M) -> object:
        """What `read` looks at, in lists, tuples and dicts: while all in them is the same, a message is not read again."""
        return message

    def key(self, message: M) -> Hashable:
        """By what a message is found that comes at another place than in the call before. Messages with one key and the same
        fields are taken for one."""
        return id(message)


class PartMessages(MessageMapping[M], Generic[M, P]):
    """Messages that hold parts, such as texts, calls and results, each of which is read as one block."""

    def nothing(self, message: M) -> str:
        """What stands for a message of which no part is looked at."""
        return "(nothing)"

    def parts(self, message: M) -> Sequence[tuple[P, Block | None]]:
        """Each part and the block that it is read as; None for a part that is not looked at: it stays."""
        raise NotImplementedError

    def role(self, message: M) -> str:
        """Who says it."""
        raise NotImplementedError

    def rewrite(self, part: P, block: Block) -> P:
        """The part with what its block says now."""
        raise NotImplementedError

    def compose(self, block: Block, role: str = "", tool: str = "tool") -> P:
        """A new part. A result is told the name of its tool, because some providers want it."""
        raise NotImplementedError

    def make(self, message: M | None, role: str, parts: list[P]) -> M:
        """The message with other parts; a new one if there is none."""
        raise NotImplementedError

    def read(self, message: M) -> Block:
        """The message with a block for each part."""
        blocks = [block for _, block in self.parts(message) if block is not None]
        return {"role": self.role(message), "content": blocks or [{"type": "text", "text": self.nothing(message)}]}

    def write(self, message: M | None, payload: Block, given: GivenMessages[M] | None = None) -> Sequence[M]:
        """The message with its own parts where they are not changed, and new ones for what the repair added: a result of
        another message, or the answer to a call that was left open, say."""
        all_given = given or GivenMessages[M]()

        def compose(block: Block) -> P:
            if block["type"] not in _RESULTS:
                return self.compose(block, payload["role"])
            found, tool = all_given.find(block, self.parts)
            if found is None:
                return self.compose(block, payload["role"], tool)
            part, before = found
            return part if block == before else self.rewrite(part, block)

        own = [] if message is None else self.parts(message)
        blocks = blocks_in(payload["content"])
        return [self.make(message, payload["role"], rewritten_parts(own, blocks, rewrite=self.rewrite, compose=compose))]


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


class FrameworkEditor(Generic[M]):
    """Asks the Editor about messages of a framework. Whatever goes wrong here is logged, and the call goes on without it."""

    def __init__(
        self,
        store: str | os.PathLike[str] | Editor | None,
        policy: Policy | PresetName | None,
        mapping: MessageMapping[M],
        *,
        namespace: str = "",
    ) -> None:
        self.editor = make_editor(store, policy)
        self._mapping = mapping
        self._namespace = check_text("namespace", namespace)
        self._seen: dict[Hashable, _SeenMessage[M]] = {}
        self._last: OrderedDict[str, list[_SeenMessage[M]]] = OrderedDict()
        """By session, the messages of its last call: those of the next one are mostly the same."""
        self._under_way: OrderedDict[Hashable, EditedCall[M]] = OrderedDict()

    def begin(self, key: Hashable, call: EditedCall[M]) -> None:
        """Remember a call until it is answered, for frameworks that tell of question and answer in two places."""
        self._under_way[key] = call
        while len(self._under_way) > _MOST_CALLS:
            self._under_way.popitem(last=False)

    def end(self, key: Hashable) -> EditedCall[M]:
        """The call, which is over now; one of no request if it is not known."""
        return self._under_way.pop(key, EditedCall(()))

    def edit(self, messages: Sequence[M], read_settings: Callable[[], CallSettings]) -> EditedCall[M]:
        """What to send in place of the messages: if no rule can be asked, what was struck before; if not even that, all."""
        try:
            settings = read_settings()
            lifetime = str(settings.lifetime) if settings.lifetime in ("5m", "1h") else ""
            seen = self._seen_messages(messages, settings)
            said = [one.payload for one in seen]
        except Exception as problem:
            _log_failure("The messages are sent as they are: one could not be read", problem)
            return EditedCall(messages)
        whose: Any = {"format": self._mapping.format, "session": settings.session, "namespace": self._namespace}
        try:
            request = self.editor.edit(
                said,
                **whose,
                model=settings.model or None,
                preamble=settings.preamble,
                lifetime=lifetime,
                times=[one.time for one in seen],
            )
        except Exception as problem:
            _log_failure("The messages could not be edited; what is recorded for them is kept", problem)
            try:
                request = self.editor.recorded(said, **whose)
            except Exception as trouble:
                _log_failure("The messages are sent as they are: what is recorded for them could not be read", trouble)
                return EditedCall(messages)
            lifetime = ""
        return replace(self._written(messages, seen, request), lifetime=lifetime)

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
        # What the provider answered, as the SDKs of Anthropic and OpenAI, of AWS, and of Google say it.
        match getattr(problem, "response", None):
            case {"ResponseMetadata": {"HTTPStatusCode": of_aws}}:
                status = getattr(problem, "status_code", None) or of_aws
            case _:
                status = getattr(problem, "status_code", None) or getattr(problem, "code", None)
        if call.request is None or not call.request.is_changed or status not in REFUSALS:
            return
        try:
            self.editor.stop_editing(call.request, f"the provider answered {status} to messages that were changed")
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

    def _seen_messages(self, messages: Sequence[M], settings: CallSettings) -> list[_SeenMessage[M]]:
        """The messages as they were read, now or before."""
        session, time_of = settings.session, settings.time_of
        before, now = self._last.get(session, []), list(map(self._mapping.fields, messages))
        count = len(before)
        if _are_same(now[:count], [one.fields for one in before]):
            seen = before + [self._find(*one, time_of) for one in zip(messages[count:], now[count:], strict=True)]
        else:
            seen = [
                one if one is not None and _are_same(one.fields, fields) else self._find(message, fields, time_of)
                for message, fields, one in zip_longest(messages, now, before[: len(now)])
            ]
        self._last[session] = seen
        if len(self._last) > _MOST_SESSIONS:
            self._last.popitem(last=False)
        return seen

    def _find(self, message: M, fields: object, time_of: Callable[[M], float | None] | None) -> _SeenMessage[M]:
        key = self._mapping.key(message)
        known = self._seen.get(key)
        if known is None or not _are_same(known.fields, fields):
            payload = payloads.encode(self._mapping.read(message))
            known = _SeenMessage(message, _copied(fields), payload, time_of(message) if time_of else None)
            if len(self._seen) >= _MOST_MESSAGES:
                self._seen.clear()
            self._seen[key] = known
        return known

    def _written(self, messages: Sequence[M], seen: list[_SeenMessage[M]], request: EditedRequest) -> EditedCall[M]:
        """What a request says in the framework's messages; all as it was if that cannot be said in them."""
        if not request.is_changed:
            return EditedCall(messages, request)
        sent: list[M] = []
        given = GivenMessages(messages)
        try:
            for position, payload in zip(request.positions, request.said, strict=True):
                if position is None:
                    sent += self._mapping.write(None, payloads.decode(payload), given)
                elif payload is seen[position].payload:
                    sent.append(messages[position])
                else:
                    said, now = seen[position], payloads.encoded(payload)
                    if said.changed != now:  # else it was written before
                        said.changed, said.made = b"", self._mapping.write(messages[position], payloads.decode(now), given)
                        said.changed = now
                    sent += said.made
        except Exception as problem:
            _log_failure("The messages are sent as they are: a change cannot be said in them", problem)
            try:
                self.editor.withdraw(request)
            except Exception as trouble:
                _log_failure("Strikes that were never sent could not be withdrawn", trouble)
            return EditedCall(messages)
        return EditedCall(sent, request)


class FrameworkAdapter(Generic[M]):
    """The part of an adapter's public class that does not depend on its framework: how it is made, and its Editor."""

    mapping: ClassVar[MessageMapping[Any]]

    def __init__(
        self,
        store: str | os.PathLike[str] | Editor | None = None,
        *,
        policy: Policy | PresetName | None = None,
        namespace: str = "",
        **of_framework: Any,
    ) -> None:
        super().__init__(**of_framework)
        self._messages = FrameworkEditor[M](store, policy, self.mapping, namespace=namespace)

    @property
    def editor(self) -> Editor:
        """The Editor that is asked."""
        return self._messages.editor


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


def reported_usage(sent: int, output: int, read: int, written: int, written_1h: int = 0) -> Usage | None:
    """The usage of a call of which the provider counts what it cached among what was sent; None if it reported nothing."""
    return Usage(max(sent - read - written, 0), output, read, written, written_1h) if sent > 0 else None


def blocks_in(content: str | Sequence[Block]) -> Sequence[Block]:
    """The blocks of a content, which may be a text."""
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


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
