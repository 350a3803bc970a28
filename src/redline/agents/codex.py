"""Codex: its session files are read and mended, and its setting `openai_base_url` is given, as it ignores the variable."""

import contextlib
import json
import tomllib
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar, cast

import msgspec
from msgspec import Raw

from redline.agents.launching import Agent, BaseUrl, Launch, Route, project_files
from redline.agents.launching.settings_files import option_values, read_json, read_text, table_at, text_at
from redline.agents.mending import LineEdits, MendedConversation, Mender
from redline.agents.mending.window import RepairedWindow, edit_records, last_window
from redline.agents.transcripts import Entry, LazyEntries, Position, RecordedCompaction, RecordedConversation, Transcript, Usage
from redline.agents.transcripts.detect import Reader, Sample, SessionDir
from redline.agents.transcripts.document import fields_of, head_decoder, is_object
from redline.agents.transcripts.heads import ItemHead, TokenCount, fields_in, known_fields, objects_in, parse_time_ms, text_in
from redline.agents.transcripts.source import Source, index_lines
from redline.errors import ValidationError
from redline.providers.apis import OPENAI
from redline.providers.openai_responses.messages import OpenAIResponses
from redline.repair import Strategy
from redline.values import payloads
from redline.values.messages import Message

_FORMAT = OpenAIResponses()
_RECORD_TYPES = frozenset({"session_meta", "turn_context", "response_item", "event_msg", "compacted"})
_NOT_SENT = frozenset({"ghost_snapshot"})
"""Items that Codex stores among the others for its own undo."""


class Codex(Reader):
    """Reads `~/.codex/sessions/**/rollout-*.jsonl`."""

    name: ClassVar[str] = "codex"
    session_dir = SessionDir("Codex", ".codex/sessions", "**/rollout-*.jsonl", (("CODEX_HOME", "sessions"),))

    def recognizes(self, sample: Sample) -> bool:
        """Lines that wrap a payload of one of Codex's kinds."""
        return any(
            text_in(record.get("type")) in _RECORD_TYPES and isinstance(record.get("payload"), dict)
            for record in sample.records
        )

    def read(self, source: Source) -> Transcript:
        """One conversation; the threads of sub-agents are files of their own."""
        index = index_lines(source, head_decoder(_CodexLine))
        recording = _CodexRecording(source)
        for position, line in index.records:
            recording.take(position, line)
        conversations = (recording.conversation(),) if recording.items else ()
        return Transcript(source.path, self.name, conversations, tuple(index.problems))


class _CodexTokens(msgspec.Struct, gc=False):
    input_tokens: TokenCount = 0
    """With what came from the cache."""
    cached_input_tokens: TokenCount = 0
    output_tokens: TokenCount = 0
    total_tokens: TokenCount = 0


class _TokenReport(msgspec.Struct, gc=False):
    last_token_usage: _CodexTokens | None = None
    total_token_usage: _CodexTokens | None = None


class _CodexPayload(msgspec.Struct, gc=False):
    type: str | None = None
    id: str | None = None
    role: str | None = None
    model: str | None = None
    cwd: str | None = None
    cli_version: str | None = None
    info: _TokenReport | None = None
    replacement_history: list[ItemHead] | None = None

    @property
    def is_from_model(self) -> bool:
        """Whether the item is part of a response, and not of what is sent."""
        if self.type == "message":
            return self.role == "assistant"
        return self.type == "reasoning" or (self.type or "").endswith("_call")


class _CodexLine(msgspec.Struct, gc=False):
    type: str | None = None
    timestamp: str | None = None
    payload: _CodexPayload = msgspec.field(default_factory=_CodexPayload)


class _CodexItem(msgspec.Struct, gc=False):
    """What an entry is made from."""

    position: Position
    timestamp: str | None
    id: str | None
    model: str | None
    replacement: int | None = None
    """Its number in the history that a compaction put in place of all before."""
    usage: Usage | None = None


class _CodexRecording:
    """What is known after the lines taken so far."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.items: list[_CodexItem] = []
        self.compactions: list[RecordedCompaction] = []
        self.sessions: list[tuple[Position, _CodexPayload]] = []
        self.aborted_turns = 0
        self.model: str | None = None
        self.awaiting_tokens: _CodexItem | None = None
        """The first item of the response whose tokens are not reported yet."""
        self.report = _TokenReport()

    def take(self, position: Position, line: _CodexLine) -> None:
        """The next line. Events repeat the items for the screen; only tokens and interruptions are told nowhere else."""
        payload = line.payload
        match line.type:
            case "response_item" if payload.type not in _NOT_SENT:
                item = _CodexItem(position, line.timestamp, payload.id, self.model)
                self.items.append(item)
                if payload.is_from_model and self.awaiting_tokens is None:
                    self.awaiting_tokens = item
            case "compacted":  # the new window begins with the items that replace the history, or with a summary in words
                sent = self.report.last_token_usage
                tokens_before = sent.total_tokens if sent else None
                self.compactions.append(RecordedCompaction(len(self.items), position, tokens_before=tokens_before))
                self.awaiting_tokens = None
                history = payload.replacement_history
                for number, kept in enumerate([ItemHead()] if history is None else history):
                    self.items.append(_CodexItem(position, line.timestamp, kept.id, self.model, number))
            case "event_msg" if payload.type == "turn_aborted":
                self.aborted_turns += 1
            case "event_msg" if payload.type == "token_count" and payload.info:
                self._take_tokens(payload.info)
            case "turn_context":
                self.model = payload.model
            case "session_meta":
                self.sessions.append((position, payload))

    def _take_tokens(self, report: _TokenReport) -> None:
        """Tokens go to the first item of the response they paid for: all entries before it are what was sent."""
        last, total = report.last_token_usage, report.total_token_usage
        if last is None:
            return
        is_repeated = total is not None and total == self.report.total_token_usage
        self.report = report
        if not is_repeated and self.awaiting_tokens is not None:
            cached = last.cached_input_tokens
            self.awaiting_tokens.usage = Usage(max(0, last.input_tokens - cached), last.output_tokens, cache_read_tokens=cached)
            self.awaiting_tokens = None
        # After a compaction Codex reports nothing spent and the size of the new window.
        elif is_repeated and last.input_tokens == 0 and self.compactions and self.compactions[-1].tokens_after is None:
            self.compactions[-1] = msgspec.structs.replace(self.compactions[-1], tokens_after=last.total_tokens)

    def conversation(self) -> RecordedConversation:
        """What the lines come to. The instructions are those of the latest start that has some."""
        source = self.source
        first = self.sessions[0][1] if self.sessions else _CodexPayload()
        starts = (_payload(source, position) for position, _ in reversed(self.sessions))
        instructions = (text_in(fields_in(start.get("base_instructions")).get("text")) for start in starts)

        @lru_cache(maxsize=1)  # a history holds many messages, which are asked for one after the other
        def history_at(position: Position) -> list[dict[str, Any]]:
            """What a compaction put in place of all before: items, or in older files a summary in words."""
            payload = _payload(source, position)
            words = {"type": "input_text", "text": text_in(payload.get("message"))}
            summary = {"type": "message", "role": "user", "content": [words]}
            return objects_in(payload.get("replacement_history")) or [summary]

        def entry(item: _CodexItem) -> Entry:
            def load() -> Message:
                if item.replacement is None:
                    return _FORMAT.read(_payload(source, item.position))
                return _FORMAT.read(history_at(item.position)[item.replacement])

            return Entry(load, (item.position,), parse_time_ms(item.timestamp), item.id, item.model, item.usage)

        return RecordedConversation(
            id=next((session.id for _, session in self.sessions if session.id), source.path.stem),
            format=_FORMAT.name,
            entries=LazyEntries(self.items, entry),
            compactions=tuple(self.compactions),
            system=next((text for text in instructions if text), None),
            metadata=known_fields(
                cwd=first.cwd,
                version=first.cli_version,
                resumed=max(0, len(self.sessions) - 1) or None,
                aborted_turns=self.aborted_turns or None,
            ),
        )


def _payload(source: Source, position: Position) -> dict[str, Any]:
    return fields_in(source.decode(position).get("payload"))


class CodexMender(Mender):
    """Mends `~/.codex/sessions/**/rollout-*.jsonl`."""

    formats: ClassVar[tuple[str, ...]] = ("codex",)
    name: ClassVar[str] = "Codex"
    looks_at: ClassVar[str] = "~/.codex/sessions/YEAR/MONTH/DAY/rollout-TIME-SESSION-ID.jsonl"
    resumes_by: ClassVar[str] = "codex resume SESSION-ID"
    reader = Codex()

    def mend(self, source: Source, conversation: RecordedConversation, strategy: Strategy) -> MendedConversation:
        """The items with only the bytes changed that must. The history that a compaction put into one line is edited there."""
        entries = last_window(conversation)
        compacted = conversation.compactions[-1].position if conversation.compactions else None
        count = sum(1 for entry in entries if entry.positions == (compacted,))
        messages = [entry.message for entry in entries[:count]]
        for entry in entries[count:]:
            # Over the bytes of its line, so that a change to a message leaves the rest as it is spelled.
            payload = fields_of(source.read(entry.positions[0])).get("payload")
            is_item = payload is not None and is_object(payload)
            messages.append(_FORMAT.read(bytes(cast("Raw", payload))) if is_item else entry.message)
        window, edits = RepairedWindow(conversation, strategy, messages), LineEdits(source)

        def rewrite(message: Message, position: Position) -> bytes:
            return cast("bytes", payloads.replace(source.read(position), ("payload",), _verbatim(message)))

        def create(message: Message, beside: Position) -> bytes:
            time = source.decode(beside).get("timestamp")  # no clock is asked
            return payloads.encode({"timestamp": time, "type": "response_item", "payload": _verbatim(message)})

        if not window.is_legal:
            in_history = [number for number, one in enumerate(window.repaired) if one.stays and cast("int", one.source) < count]
            split = in_history[-1] + 1 if in_history else 0
            before, after = window.messages[:count], [one.message for one in window.repaired[:split]]
            changed = [number for number in range(count) if number >= len(after) or before[number] is not after[number]]
            if changed:  # the history of the compaction is written anew
                (position,) = window.positions[0]
                history: list[Any] = [_verbatim(message) for message in after]
                line = payloads.replace(edits.read(position), ("payload", "replacement_history"), history)
                edits.replace(position, cast("bytes", line), window.fix("change", changed[0], position))
            edit_records(window, window.repaired[split:], edits=edits, rewrite=rewrite, create=create, first=count)
        if window.result or not window.would_be_replaced:
            return MendedConversation(edits, window.result)
        placeholder, fix = window.make_placeholder(last := window.positions[-1][0])
        edits.add_last(create(placeholder, last), fix)
        return MendedConversation(edits, [placeholder])


def _verbatim(message: Message) -> object:
    return Raw(message.native) if isinstance(message.native, bytes) else message.native


_CHATGPT = "https://chatgpt.com/backend-api/codex"
_CHATGPT_BASE = "https://chatgpt.com/backend-api/"
_OWN_PROVIDER = "openai"
"""The name of Codex's own model provider in its settings."""


class CodexAgent(Agent):
    """OpenAI's command-line agent."""

    name = "Codex"
    program = "codex"
    package = "@openai/codex"
    losses = ("It sends the whole history over HTTP, not what is new over a WebSocket.",)
    key_variables = ("OPENAI_API_KEY", "CODEX_API_KEY")

    def route(self, launch: Launch, proxy: str) -> Route:
        """A `-c` ahead of everything else, which holds for each of its commands; it beats every file, the project's too."""
        if flagged := self.flagged(launch):
            return flagged
        own = _config(launch)
        flags = _flags(launch, "model_provider")
        provider = "oss" if "--oss" in launch.arguments else flags[-1] if flags else text_at(own, "model_provider")
        if provider not in ("", _OWN_PROVIDER):
            note = f"Codex uses the model provider {provider}, which has its own address: its requests do not pass Redline."
            return Route.unrouted(launch, note)
        undone = {"chatgpt_base_url": own.get("chatgpt_base_url"), "model_provider": _OWN_PROVIDER}
        if not isinstance(undone["chatgpt_base_url"], str):
            undone["chatgpt_base_url"] = _CHATGPT_BASE
        keys = (key for _, held in _project_configs(launch) for key, _ in _redirects(held))
        settings = {f"{key}={json.dumps(undone[name])}": None for key in keys if (name := key.rpartition(".")[2]) in undone}
        kept = [word for setting in settings for word in ("-c", setting)]
        if not self.has_login(launch):
            return Route(("-c", f'openai_base_url="{proxy}/v1"', *kept, *launch.arguments))
        note = "Codex is logged in with ChatGPT: Redline looks on and changes nothing, unless it is told to."
        arguments = ("-c", f'openai_base_url="{proxy}"', *kept, *launch.arguments)
        return Route(arguments, upstreams={OPENAI.name: _CHATGPT}, notes=(note,))

    def base_urls(self, launch: Launch) -> Iterator[BaseUrl]:
        """The flag, the project's files, which are not followed, and the user's file."""
        for url in _flags(launch, "openai_base_url"):
            yield BaseUrl(OPENAI.name, url, "-c openai_base_url", is_flag=True)
        for path, held in _project_configs(launch):
            for key, value in _redirects(held):
                yield BaseUrl(OPENAI.name if key == "openai_base_url" else "", value, f"{key} in {path}", is_project=True)
        if url := text_at(_config(launch), "openai_base_url"):
            yield BaseUrl(OPENAI.name, url, f"openai_base_url in {_folder(launch) / 'config.toml'}")

    def has_login(self, launch: Launch) -> bool:
        """Whether its requests carry the token of a subscription with ChatGPT, not a key."""
        login = table_at(read_json(_folder(launch) / "auth.json"))
        has_key = launch.environment.get("CODEX_API_KEY") or login.get("OPENAI_API_KEY")
        return not has_key and bool(login.get("tokens"))


def _flags(launch: Launch, name: str) -> list[str]:
    """The values of a setting on the command line."""
    given = [setting.partition("=") for setting in option_values(launch.arguments, "-c", "--config")]
    return [value.strip().strip("\"'") for key, _, value in given if key.strip() == name]


def _folder(launch: Launch) -> Path:
    return Path(launch.environment.get("CODEX_HOME") or launch.home / ".codex")


def _config(launch: Launch) -> Mapping[str, object]:
    path = _folder(launch) / "config.toml"
    try:
        return tomllib.loads(read_text(path))
    except tomllib.TOMLDecodeError as problem:
        raise ValidationError(f"{path} is not TOML ({problem}). Codex would not start either; mend it.") from None


def _project_configs(launch: Launch) -> Iterator[tuple[Path, Mapping[str, object]]]:
    """The project's files, which Codex reads once the user trusts the folder; one that is no TOML stops Codex by itself."""
    for path in project_files(launch, (".codex/config.toml",), _folder(launch)):
        with contextlib.suppress(tomllib.TOMLDecodeError):
            yield path, tomllib.loads(read_text(path))


def _redirects(held: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """The settings in a file that say where requests go, at its top and in its profiles."""
    tables = {"": held, **{f"profiles.{name}.": table for name, table in table_at(held, "profiles").items()}}
    for prefix, table in tables.items():
        for key in ("openai_base_url", "chatgpt_base_url", "model_provider"):
            if value := text_at(table, key):
                yield prefix + key, value
