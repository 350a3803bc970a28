"""What a session holds, in numbers: messages, tools, tokens, unanswered calls, large parts, repeated reads."""

import os
import re
from collections import Counter as Tally
from collections.abc import Sequence
from dataclasses import dataclass, field
from heapq import nlargest
from itertools import chain
from operator import attrgetter

from redline.agents.readers import Entry, RecordedConversation, Transcript, read_transcript
from redline.agents.transcripts import known_time_ms
from redline.providers import find_format
from redline.providers.laws import History, problems_of
from redline.record.records import MessageAdded
from redline.sessions.read_session import problems_of_records
from redline.sessions.replay.history import LOG
from redline.sessions.replay.paid import paid_in_transcript
from redline.sessions.to_json import KINDS
from redline.sessions.words import user_texts, user_words
from redline.tokens import Counter, count_part, default_counter
from redline.tools import Reads, describe
from redline.values.messages import Message, Part, ToolCall, ToolResult
from redline.values.pairs import Spot, pair_up
from redline.values.payloads import encoded

_MOST_LARGE_PARTS = 10
_SEARCHED_FOR_FOLDER = 20_000
_WORKING_FOLDER = re.compile(r"<cwd>([^<\n]{1,500})</cwd>|[Ww]orking (?:in the )?directory: *`?([^\n<`]{1,500})")
"""How agents tell their model the folder they work in."""
_NO_MODEL = "<synthetic>"
"""What Claude Code writes as the model of messages that no model said."""
_MARKS_OF_SUBAGENTS = ("agent_id", "parent")
"""What readers tell of a conversation that another one started."""
_KINDS: dict[type[Part], str] = {**KINDS, ToolCall: "tool_calls", ToolResult: "tool_results"}


@dataclass(slots=True)
class ToolUse:
    """How often a tool was called, and what its calls and results weigh."""

    calls: int = 0
    results: int = 0
    errors: int = 0
    tokens: int = 0


@dataclass(frozen=True, slots=True)
class LargePart:
    """One of the largest parts, and the line or offset it is at."""

    tokens: int
    kind: str
    tool: str | None
    line: int | None
    offset: int
    member: str | None = None
    """The file inside an archive, or the record of a database."""


@dataclass(frozen=True, slots=True)
class RepeatedRead:
    """A file that was read more than once in one conversation."""

    path: str
    reads: int
    tokens: int
    """Of all its reads together."""


@dataclass(slots=True)
class Inspection:
    """What a session file holds. All numbers are over the whole file: branches, sub-agents and earlier windows included."""

    path: str
    format: str
    """The agent that wrote the file; `redline` for a log of its own."""
    started_ms: float | None = None
    """When the first and the last message were said, in milliseconds since 1970."""
    ended_ms: float | None = None
    project: str | None = None
    """The folder that the agent worked in, if the file says so."""
    first_words: str = ""
    """The beginning of what the user asked first."""
    message_format: str | None = None
    conversations: int = 0
    messages: int = 0
    """API messages; an agent may write several lines for one."""
    records: int = 0
    """The lines or elements that hold them."""
    tool_calls: int = 0
    tool_results: int = 0
    unanswered_calls: int = 0
    orphan_results: int = 0
    branches: int = 0
    subagents: int = 0
    compactions: int = 0
    attachments: int = 0
    tokens: dict[str, int] = field(default_factory=dict)
    """By kind of part, and in total. Media and system prompts that the file does not hold are not in it."""
    reported_tokens: int | None = None
    """The largest prompt that the provider itself reported."""
    requests: int = 0
    """How often a model answered; what it said without a break is one answer."""
    cost_usd: float | None = None
    """What the requests cost whose usage was reported, at list prices; None where no usage or no price is known."""
    models: list[str] = field(default_factory=list)
    """Those that answered, the one that did most often first."""
    is_subagent: bool = False
    """Whether the file is that of a sub-agent, whose session is in another."""
    tools: dict[str, ToolUse] = field(default_factory=dict)
    largest: list[LargePart] = field(default_factory=list)
    repeated_reads: list[RepeatedRead] = field(default_factory=list)
    problems: list[dict[str, object]] = field(default_factory=list)
    """Records that could not be read, and what a provider would refuse: of a log of Redline's, as Redline would send it."""


def inspect_transcript(session: str | os.PathLike[str] | Transcript, *, counter: Counter | None = None) -> Inspection:
    """Add up a session: a file, or a transcript that was read already. Unreadable files raise TranscriptError."""
    transcript = session if isinstance(session, Transcript) else read_transcript(session)
    survey = _Survey(transcript, counter or default_counter())
    for conversation in transcript:
        survey.add(conversation)
    found, paid = survey.result(), paid_in_transcript(transcript)
    found.cost_usd = paid.usd if paid is not None else None
    return found


class _Survey:
    """Adds up one file, message by message; no message is kept."""

    def __init__(self, transcript: Transcript, counter: Counter) -> None:
        self._counter = counter
        self._kinds: Tally[str] = Tally()
        self._large: list[LargePart] = []
        self._has_words = False  # of the user, rather than of what the agent put in front of them
        self._told_folder: str | None = None
        self._models: Tally[str] = Tally()
        self._found = Inspection(str(transcript.path), transcript.format, conversations=len(transcript))
        self._found.is_subagent = bool(transcript.conversations) and not any(
            conversation.metadata.keys().isdisjoint(_MARKS_OF_SUBAGENTS) for conversation in transcript
        )
        self._found.problems = [
            {"law": None, "line": bad.line, "column": bad.column, "found": bad.reason} for bad in transcript.problems
        ]

    def add(self, conversation: RecordedConversation) -> None:
        found = self._found
        found.message_format = conversation.format
        project = conversation.metadata.get("cwd")
        if not found.project and project and isinstance(project, str):
            found.project = project
        for name in ("branches", "subagents", "compactions", "attachments"):
            setattr(found, name, getattr(found, name) + len(getattr(conversation, name)))
        reads: dict[str, list[int]] = {}
        windows = conversation.windows
        for number, entries in enumerate((*windows, *(branch.entries for branch in conversation.branches))):
            self._add_window(conversation, entries, reads, is_sent=number == len(windows) - 1)
        found.repeated_reads += [RepeatedRead(p, len(sizes), sum(sizes)) for p, sizes in reads.items() if len(sizes) > 1]
        for subagent in conversation.subagents:
            self.add(subagent)

    def result(self) -> Inspection:
        found = self._found
        found.project = found.project or self._told_folder
        found.models = [model for model, _ in self._models.most_common()]
        found.tokens = {"total": self._kinds.total(), **{kind: self._kinds[kind] for kind in _KINDS.values()}}
        found.largest = nlargest(_MOST_LARGE_PARTS, self._large, key=attrgetter("tokens"))
        found.tools = dict(sorted(found.tools.items(), key=lambda item: (-item[1].tokens, item[0])))
        found.repeated_reads.sort(key=lambda read: (-read.reads, -read.tokens, read.path))
        return found

    def _add_window(
        self, conversation: RecordedConversation, entries: Sequence[Entry], reads: dict[str, list[int]], *, is_sent: bool
    ) -> None:
        """Add messages that were sent together, and note what each read of a file weighs."""
        messages, is_going_on = tuple(entry.message for entry in entries), False
        format = find_format(conversation.format)
        pairs = pair_up(messages, items_are_messages=format.items_are_messages)
        self._found.unanswered_calls += len(pairs.unanswered)
        self._found.orphan_results += len(pairs.orphans)
        call_of = {answer: step.calls[spot] for step in pairs.steps for spot, answer in step.answers.items()}
        for number, (entry, message) in enumerate(zip(entries, messages, strict=True)):
            self._add_message(entry, message, number, call_of)
            if message.role == "assistant" and entry.model != _NO_MODEL and not is_going_on:
                self._found.requests += 1
                self._models.update([entry.model] if entry.model else ())
            is_going_on = message.role == "assistant"
        for spot, call in call_of.items():
            result = messages[spot.message].parts[spot.part]
            if isinstance(result, ToolResult) and not result.is_error:
                for path in {action.path: None for action in describe(call) if isinstance(action, Reads)}:
                    reads.setdefault(path, []).append(count_part(result, self._counter))
        if not is_sent:
            return
        if self._found.format == LOG:  # visible messages without strikes: each of these was judged when it was applied
            added = [MessageAdded(encoded(one.native), one.timestamp_ms) for one in messages]
            judged = problems_of_records(added, format)
        else:
            judged = problems_of(History.of(messages, format, pairs), is_stored=True)
        for one in judged:
            line = entries[one.index].positions[0].line if one.index < len(entries) else None
            place = {"law": one.law, "conversation": conversation.id, "index": one.index, "part": one.part, "line": line}
            self._found.problems.append({**place, "rule": one.rule, "found": one.found})

    def _add_message(self, entry: Entry, message: Message, number: int, call_of: dict[Spot, ToolCall]) -> None:
        found, position = self._found, entry.positions[0]
        found.messages += 1
        found.records += len(entry.positions)
        time_ms = known_time_ms(entry.timestamp_ms or message.timestamp_ms)
        if time_ms is not None:
            found.started_ms = time_ms if found.started_ms is None else min(time_ms, found.started_ms)
            found.ended_ms = time_ms if found.ended_ms is None else max(time_ms, found.ended_ms)
        if message.role == "user" and not self._has_words:
            self._look_for_words(message)
        if entry.usage:
            found.reported_tokens = max(found.reported_tokens or 0, entry.usage.input_tokens)
        for place, part in enumerate(message.parts):
            answered = call_of.get(Spot(number, place))
            tool = answered.name if answered else getattr(part, "name", None)
            tokens, kind = count_part(part, self._counter), _KINDS[type(part)]
            self._kinds[kind] += tokens
            self._large.append(LargePart(tokens, kind, tool, position.line, position.offset, position.member))
            self._tally_tool(part, tool, tokens)
        if len(self._large) > 50 * _MOST_LARGE_PARTS:
            self._large = nlargest(_MOST_LARGE_PARTS, self._large, key=attrgetter("tokens"))
        for one in chain[ToolCall | ToolResult](entry.text_calls, entry.text_results):
            self._tally_tool(one, one.name, 0)

    def _look_for_words(self, message: Message) -> None:
        """The first words of the user, after what the agent put in front of them; if there is nothing else, that."""
        for text in user_texts((message,)):
            if self._told_folder is None and (told := _WORKING_FOLDER.search(text, 0, _SEARCHED_FOR_FOLDER)):
                self._told_folder = (told[1] or told[2]).strip()
            words, self._has_words = user_words(text)
            if self._has_words:
                self._found.first_words = words
                return
            self._found.first_words = self._found.first_words or words

    def _tally_tool(self, part: Part, tool: str | None, tokens: int) -> None:
        if not isinstance(part, ToolCall | ToolResult):
            return
        use = self._found.tools.setdefault(tool or "unknown", ToolUse())
        use.tokens += tokens
        if isinstance(part, ToolCall):
            self._found.tool_calls += 1
            use.calls += 1
        else:
            self._found.tool_results += 1
            use.results, use.errors = use.results + 1, use.errors + part.is_error
