"""opencode session exports, read and mended: one JSON value, a message a step of the model, calls and results in one part."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, ClassVar, NamedTuple, TypeAlias, cast

import msgspec

from redline.agents.mending import ListEdits, MendedConversation, Mender
from redline.agents.mending.window import BlockOrigins, RepairedWindow
from redline.agents.transcripts import Entry, Position, RecordedCompaction, RecordedConversation, Transcript, Usage
from redline.agents.transcripts.detect import Reader, Sample
from redline.agents.transcripts.document import fields_of, head_decoder, open_document
from redline.agents.transcripts.heads import ItemHead, TokenCount, fields_in, known_fields, known_time_ms, objects_in, text_in
from redline.agents.transcripts.source import Source
from redline.providers.ai_sdk.messages import AiSdk
from redline.repair import INTERRUPTED, Strategy
from redline.values import payloads
from redline.values.messages import Message, ToolResult
from redline.values.payloads import Payload

_FORMAT = AiSdk()
_BOOKKEEPING = frozenset({"step-start", "step-finish", "snapshot", "patch"})
"""Parts that opencode keeps for itself and never sends."""
_SPELLED_OUT = frozenset({"text/plain", "application/x-directory"})
"""Kinds of files whose content is in a text part beside them; only that is sent."""
_ANSWERED = frozenset({"completed", "error"})


Decode: TypeAlias = Callable[[Position], Any]
"""The message at a position, with its `info` and its `parts`."""


class OpenCode(Reader):
    """Reads what `opencode export` writes."""

    name: ClassVar[str] = "opencode"
    agent = "opencode"

    def recognizes(self, sample: Sample) -> bool:
        """Messages beside the description of a session in a project."""
        described = bytes(sample.fields.get("info", b"null"))
        return "messages" in sample.fields and {"id", "directory", "time"} <= fields_of(described).keys()

    def read(self, source: Source) -> Transcript:
        """One conversation."""
        document = open_document(source)
        index = document.index_items(document.fields.get("messages"), read_message)
        session = fields_in(payloads.decode(bytes(document.fields.get("info", b"{}"))))
        cwd, version = text_in(session.get("directory")), text_in(session.get("version"))
        history = read_history(source.decode, index.records)
        conversation = RecordedConversation(
            id=text_in(session.get("id")) or source.path.stem,
            format=AiSdk.name,
            entries=history.entries,
            compactions=history.compactions,
            metadata=known_fields(cwd=cwd, version=version, pruned=history.pruned or None),
        )
        return Transcript(source.path, self.name, (conversation,), tuple(index.problems))


class _OpenCodeTimes(msgspec.Struct):
    created: float | None = None
    end: float | None = None
    compacted: float | None = None
    """When the output of a tool was taken out of the prompt. It is still in the file."""


class _OpenCodeCache(msgspec.Struct):
    read: TokenCount = 0
    write: TokenCount = 0


class _OpenCodeTokens(msgspec.Struct):
    input: TokenCount = 0
    output: TokenCount = 0
    cache: _OpenCodeCache = msgspec.field(default_factory=_OpenCodeCache)


class _OpenCodeInfo(msgspec.Struct):
    id: str | None = None
    role: str | None = None
    model_id: str | None = msgspec.field(default=None, name="modelID")
    time: _OpenCodeTimes | None = None
    tokens: _OpenCodeTokens | None = None
    finish: str | None = None
    error: ItemHead | None = None
    summary: bool | ItemHead | None = None
    """True on the message that sums up all before it; on a user's message what was changed since."""


class _OpenCodeState(msgspec.Struct):
    status: str | None = None
    time: _OpenCodeTimes | None = None


class OpenCodePart(msgspec.Struct):
    """What an index keeps of a part."""

    type: str | None = None
    call_id: str | None = msgspec.field(default=None, name="callID")
    auto: bool | None = None
    state: _OpenCodeState = msgspec.field(default_factory=_OpenCodeState)

    @property
    def is_answered(self) -> bool:
        """Whether the part is a call, and its tool has given a result or an error."""
        return self.type == "tool" and self.state.status in _ANSWERED


class OpenCodeMessage(msgspec.Struct):
    """What an index keeps of a message."""

    info: _OpenCodeInfo = msgspec.field(default_factory=_OpenCodeInfo)
    parts: list[OpenCodePart] = msgspec.field(default_factory=list)

    @property
    def is_summary(self) -> bool:
        """Whether it takes the place of all before it."""
        is_finished = self.info.finish is not None and self.info.error is None
        return self.info.role == "assistant" and is_finished and self.info.summary is True


read_message = head_decoder(OpenCodeMessage)
read_info = head_decoder(_OpenCodeInfo)
read_part = head_decoder(OpenCodePart)


class OpenCodeHistory(NamedTuple):
    """The messages of a session as entries."""

    entries: tuple[Entry, ...] = ()
    compactions: tuple[RecordedCompaction, ...] = ()
    pruned: tuple[dict[str, Any], ...] = ()
    """The tool outputs that opencode stopped sending: in which entry, of which call, since when."""


def read_history(decode: Decode, records: Sequence[tuple[Position, OpenCodeMessage]]) -> OpenCodeHistory:
    """The entries of messages, which stay where they are: in a file, or a database."""
    entries: list[Entry] = []
    compactions: list[RecordedCompaction] = []
    pruned: list[dict[str, Any]] = []
    before, before_start = OpenCodeMessage(), 0
    for position, record in records:
        start = len(entries)
        entries.extend(_entries(decode, position, record))
        for part in record.parts:
            if part.state.time and part.state.time.compacted:
                pruned.append({"entry": start + 1, "call_id": part.call_id, "since_ms": part.state.time.compacted})
        if record.is_summary:
            # A window begins with the request for a summary where there is one, else with the summary.
            request = next((part for part in before.parts if part.type == "compaction"), None)
            trigger = None if request is None else "auto" if request.auto else "manual"
            compactions.append(RecordedCompaction(start if request is None else before_start, position, trigger))
        before, before_start = record, start
    return OpenCodeHistory(tuple(entries), tuple(compactions), tuple(pruned))


def _entries(decode: Decode, position: Position, record: OpenCodeMessage) -> Iterator[Entry]:
    """The message and, where tools have answered, their results as a message of its own."""
    info, tokens = record.info, record.info.tokens or _OpenCodeTokens()
    created = known_time_ms(info.time.created) if info.time else None
    usage: Usage | None = Usage(tokens.input, tokens.output, tokens.cache.read, tokens.cache.write)
    if usage == Usage():  # zeros where no request was made
        usage = None
    yield Entry(partial(_load_said, decode, position), (position,), created, info.id, info.model_id, usage)
    if any(part.is_answered for part in record.parts):
        told = [known_time_ms(part.state.time.end) for part in record.parts if part.state.time]
        ended = max((end for end in told if end), default=created)
        yield Entry(partial(_load_results, decode, position), (position,), ended, info.id)


def _load_said(decode: Decode, position: Position) -> Message:
    """What is sent of a message; an unknown part is carried as it is."""
    record = decode(position)
    content: list[dict[str, Any]] = []
    for part in objects_in(record.get("parts")):
        match part.get("type"):
            case "text" | "reasoning" as kind:
                if not part.get("ignored"):
                    content.append(_with_options({"type": kind, "text": text_in(part.get("text"))}, part))
            case "tool":
                call = {"type": "tool-call", "toolCallId": part.get("callID"), "toolName": part.get("tool")}
                arguments = fields_in(part.get("state")).get("input")
                content.append(_with_options({**call, "input": arguments}, part))
            case "file":
                if text_in(part.get("mime")) not in _SPELLED_OUT:
                    file = {"type": "file", "mediaType": part.get("mime"), "data": part.get("url")}
                    content.append({**file, "filename": part.get("filename")})
            case str(kind) if kind in _BOOKKEEPING:
                pass
            case _:
                content.append(part)
    return _FORMAT.read({"role": fields_in(record.get("info")).get("role"), "content": content})


def _with_options(piece: dict[str, Any], part: dict[str, Any]) -> dict[str, Any]:
    """The piece with what the provider wants back with it: item ids, signatures, encrypted reasoning."""
    options = fields_in(part.get("metadata"))
    return {**piece, "providerOptions": options} if options else piece


def _load_results(decode: Decode, position: Position) -> Message:
    """The results of the calls that have ended; one that runs, or ran when the session ended, has none."""
    results: list[dict[str, Any]] = []
    for part in objects_in(decode(position)["parts"]):
        state = fields_in(part.get("state"))
        if part.get("type") != "tool" or text_in(state.get("status")) not in _ANSWERED:
            continue
        words, attachments = text_in(state.get("output")), objects_in(state.get("attachments"))
        output: dict[str, Any] = {"type": "text", "value": words}
        if state["status"] == "error":
            output = {"type": "error-text", "value": text_in(state.get("error"))}
        elif attachments:
            urls = [(attachment.get("mime"), text_in(attachment.get("url"))) for attachment in attachments]
            # data URLs, of which a result takes the data alone
            media = [{"type": "media", "mediaType": mime, "data": url.partition(",")[2]} for mime, url in urls]
            output = {"type": "content", "value": [{"type": "text", "text": words}, *media]}
        result = {"type": "tool-result", "toolCallId": part.get("callID"), "toolName": part.get("tool")}
        results.append({**result, "output": output})
    return _FORMAT.read({"role": "tool", "content": results})


class OpenCodeMender(Mender):
    """Mends what `opencode export` writes, for `opencode import`."""

    formats: ClassVar[tuple[str, ...]] = ("opencode",)
    name: ClassVar[str] = "opencode"
    looks_at: ClassVar[str] = "its database"
    resumes_by: ClassVar[str] = "opencode import FILE, then opencode --session SESSION-ID"
    reader = OpenCode()

    def mend(self, source: Source, conversation: RecordedConversation, strategy: Strategy) -> MendedConversation:
        """The messages with only the parts changed that must."""
        records = list(dict.fromkeys(entry.positions[0] for entry in conversation.entries))
        place_of = {position: place for place, position in enumerate(records)}
        edits = ListEdits(source, records)
        window = RepairedWindow(conversation, strategy)
        if window.is_legal:
            return MendedConversation(edits, window.result)
        speaking = [number for number, at in enumerate(window.positions) if number == 0 or at != window.positions[number - 1]]
        # By the number of a record's message: what it says after the repair, and its new or changed results.
        said: dict[int, Message] = {}
        results: dict[int, list[ToolResult]] = {number: [] for number in speaking}
        latest = 0
        for one in window.repaired:
            if one.source in results:
                latest = one.source
                said[latest] = one.message
            elif not one.is_unchanged:  # results are in the record of the message before them
                results[latest] += one.message.results
        for number in speaking:
            (position,), before, after = window.positions[number], window.messages[number], said.get(number)
            if after is None:
                edits.remove(position, window.fix("remove", number, position, place=place_of[position]))
            elif after is not before or results[number]:
                record = _rewritten(source.read(position), before, after, results[number])
                edits.replace(position, record, window.fix("change", number, position, place=place_of[position]))
        return MendedConversation(edits, window.result)


def _rewritten(record: bytes, before: Message, after: Message, results: Sequence[ToolResult]) -> bytes:
    """The record with only the parts of what is said after the repair, and its open calls failed."""
    parts = payloads.decode(record)["parts"]
    numbered = iter(enumerate(parts))
    numbers: list[int] = []
    origins: BlockOrigins[int] = BlockOrigins()
    for block in _blocks(before):  # in the order of the parts, of which some are not sent
        number = next(number for number, part in numbered if _became(part, block))
        numbers.append(number)
        origins.add(block, number)
    kept = {origins.find(block): block for block in _blocks(after)}
    payload: Payload = record
    for number, part in enumerate(parts):
        if number in kept and fields_in(part).get("type") == "tool":
            payload = _with_answer(payload, number, kept[number]["toolCallId"], results)
    return cast("bytes", payloads.remove(payload, [("parts", number) for number in numbers if number not in kept]))


def _blocks(message: Message) -> list[Any]:
    return list(payloads.decode(message.native)["content"])


def _became(part: Any, block: dict[str, Any]) -> bool:
    """Whether a stored part is what became this block of a message."""
    if not isinstance(part, dict):
        return False
    match block.get("type"):
        case "tool-call":
            return part.get("type") == "tool"
        case "text" | "reasoning" as kind:
            return part.get("type") == kind and text_in(part.get("text")) == block["text"] and not part.get("ignored")
        case "file":
            return part.get("type") == "file" and (part.get("url"), part.get("mime")) == (block["data"], block["mediaType"])
        case _:
            return part == block


def _with_answer(payload: Payload, number: int, call_id: str | None, results: Sequence[ToolResult]) -> Payload:
    """The record with a call under its present id, and failed if it was open."""
    stored = payloads.decode(payload)
    part = stored["parts"][number]
    if part.get("callID") != call_id:
        payload = payloads.replace(payload, ("parts", number, "callID"), call_id)
    state = fields_in(part.get("state"))
    if text_in(state.get("status")) in _ANSWERED:
        return payload
    # Two calls may share an id, and the result of the other was taken for this one's: then there is none for it.
    words = next((result.text for result in results if result.call_id == call_id), INTERRUPTED)
    # No clock is asked: the call ended when it began.
    info = fields_in(stored.get("info"))
    time = fields_in(state.get("time")).get("start") or fields_in(info.get("time")).get("created") or 0
    kept = {"input": {}} | {key: state[key] for key in ("input", "metadata") if key in state}
    failed = {"status": "error", **kept, "error": words, "time": {"start": time, "end": time}}
    return payloads.replace(payload, ("parts", number, "state"), failed)
