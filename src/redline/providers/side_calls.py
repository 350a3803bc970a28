"""Side calls: what an agent asks a model besides its conversation. They see the history as the agent sent it.

A loop check must see the repetition, and a title, a topic or a choice of model is no turn of the conversation. A side call is
known by the agent's own words, which are listed here, or because it offers no tools over a history of tool calls while the
other requests of its session offer some.
"""

import threading
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import takewhile
from typing import Any, Literal

from redline.providers import find_format
from redline.providers.api import Body
from redline.values.messages import Message, Text, ToolCall, ToolResult

_MOST_SESSIONS = 1_000
_MOST_OPENING_CHARS = 4_000
"""The words are looked for in this much of a text, from its beginning."""
_TOOL_FIELDS = ("tools", "functions", "mcp_servers", "cachedContent", "prompt")
"""Fields that offer tools, or name something at the provider which may hold tools."""
_SYSTEM_FIELDS = ("system", "instructions", "systemInstruction")
_TOOLS_IN_INPUT = b'"additional_tools"'
"""Codex offers some of its tools as an item of its input."""
_MOST_LEADING = 8
_MOST_TRIGGER_BYTES = 1_000


@dataclass(frozen=True, slots=True)
class SideCallWords:
    """How one kind of side call begins, in the agent's own words."""

    agent: str
    purpose: str
    place: Literal["system", "last"]
    """In the system prompt of a request without tools, or in the last message of a request with or without them."""
    words: str


SIDE_CALL_WORDS: tuple[SideCallWords, ...] = (
    SideCallWords("Claude Code", "summary", "last", "Your task is to create a detailed summary of"),
    SideCallWords("Claude Code", "summary", "system", "tasked with summarizing conversations"),
    SideCallWords("Claude Code", "prompt suggestion", "last", "[SUGGESTION MODE:"),
    SideCallWords("Claude Code", "title", "system", "Generate a concise, sentence-case title"),
    SideCallWords("Claude Code", "name", "system", "Generate a short kebab-case name"),
    SideCallWords("Claude Code", "topic", "system", "Analyze if this message indicates a new conversation topic"),
    SideCallWords("Claude Code", "command check", "system", "Your task is to process Bash commands that an AI coding agent"),
    SideCallWords("Claude Code", "command check", "last", "Your task is to determine the command prefix for"),
    SideCallWords("Claude Code", "label", "system", "Write a short summary label describing what these tool calls"),
    SideCallWords("Claude Code", "transcript summary", "last", "Summarize this portion of a Claude Code session transcript"),
    SideCallWords("Claude Code", "memory", "last", "You are now acting as the memory extraction subagent"),
    SideCallWords("Codex", "summary", "last", "You are performing a CONTEXT CHECKPOINT COMPACTION"),
    SideCallWords("Codex", "title", "last", "Generate a concise, single-line task title"),
    SideCallWords("Gemini CLI", "loop check", "system", "whether a conversational AI assistant is stuck in an"),
    SideCallWords("Gemini CLI", "loop check", "system", "identifying when a conversational AI is stuck"),
    SideCallWords("Gemini CLI", "next speaker", "last", "Analyze *only* the content and structure of your"),
    SideCallWords("Gemini CLI", "choice of model", "system", "You are a specialized Task Routing AI"),
    SideCallWords("Gemini CLI", "summary", "system", "distilling chat history into a structured XML"),
    SideCallWords("Gemini CLI", "summary", "system", "summarizes internal chat history into a given structure"),
    SideCallWords("Gemini CLI", "title", "last", "Summarize the user's primary intent or goal in this conversation"),
    SideCallWords("Gemini CLI", "tool summary", "last", "Summarize the following tool output to be a maximum of"),
    SideCallWords("Gemini CLI", "edit correction", "system", "debugging and correcting failed search-and-replace"),
    SideCallWords("opencode", "title", "system", "You are a title generator"),
    SideCallWords("opencode", "summary", "system", "You are a context summarization agent"),
    SideCallWords("opencode", "summary", "last", "Provide a detailed prompt for continuing our conversation"),
    SideCallWords("opencode", "summary", "last", "Create a new anchored summary from the conversation history"),
    SideCallWords("opencode", "summary", "system", "Summarize what was done in this conversation"),
    SideCallWords("Cline", "summary", "last", "Summarize this session for continuation"),
    SideCallWords("Cline", "summary", "system", "Summarize the provided coding session into a concise continuation note"),
    SideCallWords("Copilot CLI", "summary", "last", "Summarize the conversation history so far"),
    SideCallWords("Copilot CLI", "title", "last", "Generate a session title for this message"),
    SideCallWords("Copilot CLI", "title", "system", "Generate a short title for a coding session"),
    SideCallWords("any agent", "summary", "last", "Write a continuation summary that will allow you"),
)
"""Side calls by their words, taken from requests of the agents and from the agents' programs."""
_COMPACTION = SideCallWords("Codex", "summary", "last", "compaction_trigger")
"""Codex asks with an item of this type, which has no words, for a summary of all that comes before it."""


@dataclass(frozen=True, slots=True)
class SideCall:
    """A request that is no turn of a conversation."""

    reason: str
    """For the status and the record."""
    keeps_strikes: bool = False
    """Asked with the tools and the system prompt of its conversation: the strikes that were sent before stay, so that the
    provider's cache serves the history; nothing else is struck. Without them no cache is shared, and nothing is changed."""


class SideCalls:
    """Tells side calls from turns, by what the requests of each session offered before. For use from any number of threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._with_tools: OrderedDict[tuple[str, str], None] = OrderedDict()
        """Sessions whose requests offer tools, by namespace and name; where no name is given, by the program."""

    def find(self, body: Body, headers: Mapping[str, str], *, session: str, namespace: str) -> SideCall | None:
        """The side call that a request is; None for a turn of a conversation."""
        offers_tools = any(map(body.preamble.get, _TOOL_FIELDS)) or any(
            _TOOLS_IN_INPUT in message for message in body.messages[:_MOST_LEADING]
        )
        if known := _known_words(body, offers_tools):
            what = f"{known.agent}: {known.purpose}"
            is_kept = offers_tools and known.place == "last"
            return SideCall(f"side call: {'nothing new is struck' if is_kept else 'not edited'} ({what})", is_kept)
        program = headers.get("user-agent", "").partition("/")[0]
        key = (namespace, session or f"{body.format} of {program}")
        with self._lock:
            if offers_tools:
                self._with_tools[key] = None
                self._with_tools.move_to_end(key)
                while len(self._with_tools) > _MOST_SESSIONS:
                    self._with_tools.popitem(last=False)
                return None
            is_other = key in self._with_tools
        reader = find_format(body.format)
        if is_other and any(
            isinstance(part, ToolCall | ToolResult) for said in body.messages for part in reader.read(said).parts
        ):
            return SideCall("side call: not edited (it offers no tools, the session's other requests do)")
        return None


def _known_words(body: Body, offers_tools: bool) -> SideCallWords | None:
    if len(body.messages[-1]) < _MOST_TRIGGER_BYTES and _COMPACTION.words.encode() in body.messages[-1]:
        return _COMPACTION
    read = find_format(body.format).read
    last = read(body.messages[-1])
    system: list[str] = []
    if not offers_tools:  # the system prompt is beside the messages, or ahead of them
        system += [text[:_MOST_OPENING_CHARS] for name in _SYSTEM_FIELDS for text in _texts_in(body.preamble.get(name))]
        for message in takewhile(lambda message: message.role == "system", map(read, body.messages[:_MOST_LEADING])):
            system += _openings(message)
    texts = {"last": "\n".join(_openings(last)) if last.role == "user" else "", "system": "\n".join(system)}
    return next((known for known in SIDE_CALL_WORDS if known.words in texts[known.place]), None)


def _openings(message: Message) -> Iterator[str]:
    return (part.text[:_MOST_OPENING_CHARS] for part in message.parts if isinstance(part, Text))


def _texts_in(value: Any) -> Iterator[str]:
    match value:
        case str(text) | {"text": str(text)}:
            yield text
        case {"parts": list(items)} | list(items):
            for item in items:
                yield from _texts_in(item)
