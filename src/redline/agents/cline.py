"""Cline: its session files of one JSON value are read, and it is started with a copy of its provider settings."""

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import ClassVar

import msgspec

from redline.agents.launching import Agent, BaseUrl, Launch, Route, RoutedProvider, dotenv_redirects
from redline.agents.launching.settings_files import option_values, read_json, table_at, text_at
from redline.agents.transcripts import Entry, Position, RecordedCompaction, RecordedConversation, Transcript, Usage
from redline.agents.transcripts.detect import Reader, Sample, SessionDir
from redline.agents.transcripts.document import head_decoder, open_document
from redline.agents.transcripts.heads import ItemHead, TokenCount, fields_in, known_time_ms, objects_in
from redline.agents.transcripts.source import Source
from redline.providers.anthropic.messages import Anthropic
from redline.providers.apis import ANTHROPIC, GEMINI, OPENAI
from redline.values import payloads
from redline.values.messages import Message

_FORMAT = Anthropic()


class Cline(Reader):
    """Reads the `*.messages.json` and `*.compaction.json` files of the Cline SDK."""

    name: ClassVar[str] = "cline-sdk"
    session_dir = SessionDir(
        "Cline",
        ".cline/data/sessions",
        "*/*.messages.json",
        (("CLINE_SESSION_DATA_DIR", ""), ("CLINE_DATA_DIR", "sessions"), ("CLINE_DIR", "data/sessions")),
    )

    def recognizes(self, sample: Sample) -> bool:
        """A session with the name of its agent and the time of its last change."""
        return {"version", "updated_at", "agent", "sessionId", "messages"} <= sample.fields.keys()

    def read(self, source: Source) -> Transcript:
        """One conversation."""
        document = open_document(source)
        index = document.index_items(document.fields.get("messages"), head_decoder(_ClineRecord))
        entries: list[Entry] = []
        for position, record in index.records:
            usage: Usage | None = None
            if told := record.metrics:
                fresh = max(0, told.input_tokens - told.cache_read_tokens - told.cache_write_tokens)
                usage = Usage(fresh, told.output_tokens, told.cache_read_tokens, told.cache_write_tokens)
            load, time_ms = partial(_load, source, position), known_time_ms(record.ts)
            entries.append(Entry(load, (position,), time_ms, record.id, record.model_info.id, usage))
        conversation = RecordedConversation(
            id=document.text_of("sessionId") or source.path.stem,
            format=_FORMAT.name,
            entries=tuple(entries),
            compactions=tuple(
                RecordedCompaction(number, position, tokens_before=record.metadata.tokens_before)
                for number, (position, record) in enumerate(index.records)
                if record.metadata.kind == "compaction_summary"
            ),
            system=document.text_of("system_prompt"),
        )
        return Transcript(source.path, self.name, (conversation,), tuple(index.problems))


class _ClineMetrics(msgspec.Struct, rename="camel"):
    input_tokens: TokenCount = 0
    """With what was read from the cache and written to it."""
    output_tokens: TokenCount = 0
    cache_read_tokens: TokenCount = 0
    cache_write_tokens: TokenCount = 0


class _ClineMetadata(msgspec.Struct, rename="camel"):
    kind: str | None = None
    tokens_before: TokenCount | None = None


class _ClineRecord(msgspec.Struct, rename="camel"):
    id: str | None = None
    ts: float | None = None
    model_info: ItemHead = msgspec.field(default_factory=ItemHead)
    metrics: _ClineMetrics | None = None
    metadata: _ClineMetadata = msgspec.field(default_factory=_ClineMetadata)


def _load(source: Source, position: Position) -> Message:
    """The message; a result that is a list of bare objects as their JSON, the way Cline stores its other results."""
    record = source.decode(position)
    content = record.get("content", "")
    if not isinstance(content, list):
        return _FORMAT.read({"role": record.get("role", "user"), "content": content})
    blocks = []
    for block in content:
        fields = fields_in(block)
        items = objects_in(fields.get("content")) if fields.get("type") == "tool_result" else []
        is_bare = bool(items) and not any("type" in item for item in items)
        blocks.append({**fields, "content": payloads.encode(items).decode()} if is_bare else block)
    return _FORMAT.read({"role": record.get("role", "user"), "content": blocks})


_FILE = "CLINE_PROVIDER_SETTINGS_PATH"
_ROUTED = (
    RoutedProvider("anthropic", ANTHROPIC, "/v1"),
    RoutedProvider("openai-native", OPENAI, "/v1"),
    RoutedProvider("gemini", GEMINI, ""),
)
_PROVIDERS = {one.name: one for one in _ROUTED}
_OTHER_COMMANDS = frozenset(
    ("auth", "config", "connect", "dashboard", "doctor", "h", "history", "hook", "hub", "kanban", "mcp", "plugin", "schedule")
)


class ClineAgent(Agent):
    """The command-line version of Cline."""

    name = "Cline"
    program = "cline"
    package = "cline"
    losses = (
        "Provider settings that are changed during the run are forgotten after it.",
        "It works without its background hub, which would send requests by its own settings.",
        "Only anthropic, openai-native and gemini are routed, and only with a key.",
    )

    def route(self, launch: Launch, proxy: str) -> Route:
        """A copy of its providers with the proxy as address. A running hub would ignore it, so sessions run in the program."""
        if _OTHER_COMMANDS.intersection(launch.arguments[:1]):  # they change the user's settings, which a copy would lose
            return Route.unrouted(launch, f"cline {launch.arguments[0]} asks no model, and is started as it is.")
        settings = read_json(_settings_file(launch))
        flag = option_values(launch.arguments, "-P", "--provider")
        chosen = flag[-1] if flag else text_at(settings, "lastUsedProvider")
        if chosen not in _PROVIDERS or not table_at(settings, "providers", chosen, "settings").get("apiKey"):
            note = (
                f"Cline uses {chosen or 'no provider'}: its requests do not pass Redline. "
                f"{', '.join(_PROVIDERS)} with a key do (cline auth -p PROVIDER -k KEY -m MODEL)."
            )
            return Route.unrouted(launch, note)
        copy = json.loads(json.dumps(settings))
        for one in _ROUTED:
            if entry := copy["providers"].get(one.name):
                entry["settings"] = {**entry.get("settings", {}), "baseUrl": proxy + one.base_url_end}
        return Route(launch.arguments, {"CLINE_SESSION_BACKEND_MODE": "local"}, {_FILE: json.dumps(copy)})

    def base_urls(self, launch: Launch) -> Iterator[BaseUrl]:
        """The project's `.env` files, which are not followed, and what the user's file says."""
        yield from dotenv_redirects(launch)
        path = _settings_file(launch)
        settings = read_json(path)
        for one in _ROUTED:
            if url := text_at(settings, "providers", one.name, "settings", "baseUrl"):
                yield BaseUrl(one.api.name, url, f"baseUrl of {one.name} in {path}")


def _settings_file(launch: Launch) -> Path:
    """Where the providers are, as Cline looks for them."""
    if path := launch.environment.get(_FILE):
        return Path(path)
    folder = option_values(launch.arguments, "--data-dir")
    root = option_values(launch.arguments, "--config")
    below = Path(root[-1] if root else launch.environment.get("CLINE_DIR") or launch.home / ".cline") / "data"
    data = Path(folder[-1]) if folder else Path(launch.environment.get("CLINE_DATA_DIR") or below)
    return launch.folder / data / "settings" / "providers.json"
