"""Conversations found by what was said in them, by tools, files, times and sizes, by title and tags, and by problems."""

import posixpath
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import msgspec

from redline.conversation import Conversation
from redline.errors import RedlineError
from redline.formats import find_format
from redline.inspection.shown import part_text
from redline.laws.law import Problem
from redline.lists.check import check
from redline.log.reading import ReadOnlyLog, messages_in
from redline.log.records import Record, ViewChanged
from redline.store.stored import StoredConversation, StoredRecords
from redline.store.text_index import excerpt_of
from redline.tools import describe
from redline.tools.actions import Lists, Reads, Searches, Writes
from redline.values.messages import Message, ToolCall

__all__ = ["SearchQuery", "SearchResult"]

_PLAIN = re.compile(r"\w+(?:[ .-]\w+)*", re.ASCII)
"""Text that is the same in JSON, and in JSON inside of a string."""


class SearchResult(msgspec.Struct, frozen=True, kw_only=True):
    """A conversation that was found, and what was found in it first."""

    conversation: StoredConversation
    """One that cannot be read is found by every search, with its problem, since nobody knows what is in it."""
    excerpt: str = ""
    """What was said around the text, without secrets; else the call, the path or the problem that was looked for."""
    matches: int = 0
    """How many messages have it, those of other branches, and earlier versions, included; or how many problems there are."""


@dataclass(frozen=True, slots=True)
class SearchQuery:
    """What a conversation must have to be found. Text, tool and path may be in different messages."""

    text: str = ""
    """Whatever its case, in what was said, called or given back."""
    tool: str = ""
    """The name of a tool that was called."""
    path: str = ""
    """A file or folder that a call reads, writes, lists or searches: the whole path, its end, or a folder it is in."""
    since_ms: float | None = None
    """Something was said at this time or later."""
    until_ms: float | None = None
    """Something was said at this time or before."""
    min_messages: int = 0
    min_bytes: int = 0
    max_bytes: int | None = None
    user: str = ""
    """Whose it is, as `Store.describe` was told."""
    tag: str = ""
    problems: bool = False
    """Only those of whose visible messages the provider would refuse something, if they were sent without a repair."""

    def may_match(self, conversation: StoredConversation) -> bool:
        """Whether its size, its times and what is said of it are as wanted; where a time is wanted, one without is not."""
        first_ms, last_ms = conversation.first_ms, conversation.last_ms
        is_late_enough = self.since_ms is None or (last_ms is not None and last_ms >= self.since_ms)
        is_early_enough = self.until_ms is None or (first_ms is not None and first_ms <= self.until_ms)
        is_of_size = self.min_bytes <= conversation.bytes and (self.max_bytes is None or conversation.bytes <= self.max_bytes)
        is_described = self.user in ("", conversation.user) and (not self.tag or self.tag in conversation.tags)
        is_long_enough = conversation.messages >= self.min_messages
        return is_late_enough and is_early_enough and is_long_enough and is_of_size and is_described

    def result(self, conversation: StoredConversation, read: StoredRecords) -> SearchResult | None:
        """What is told of a conversation that may match; None if something wanted is not in it."""
        found = self.found_in(self._messages(conversation.format, read))
        if self.problems:
            found.append([str(problem) for problem in _problems_in(conversation.format, read)])
        if not all(found):
            return None
        first = found[0] if found else []
        return SearchResult(conversation=conversation, excerpt=first[0] if first else "", matches=len(first))

    def found_in(self, messages: Iterable[Message]) -> list[list[str]]:
        """For each of text, tool and path that is looked for, an excerpt of each message that has it."""
        looks = self._looks()
        found: list[list[str]] = [[] for _ in looks]
        for message in messages if looks else ():
            for look, hits in zip(looks, found, strict=True):
                excerpt = look(message)
                if excerpt is not None:
                    hits.append(excerpt)
        return found

    def _looks(self) -> list[Callable[[Message], str | None]]:
        """A function for each thing that is looked for: from a message to what it has of it."""
        wanted = ((self.text, self._text_in), (self.tool, self._tool_in), (self.path, self._path_in))
        return [look for given, look in wanted if given]

    def _messages(self, format_name: str, read: StoredRecords) -> Iterator[Message]:
        """All messages in all versions; without tool and path, only those that may hold the text, since reading takes time."""
        if not format_name:  # nothing was said yet
            return
        format = find_format(format_name)
        may_hold = _may_hold(self.text) if not (self.tool or self.path) else lambda _: True
        for one in read.records:
            for payload in _payloads_in(one.record):
                if may_hold(payload):
                    try:
                        yield format.read(payload)
                    except RedlineError:  # a message that is none of the format says nothing that could be found
                        continue

    def _text_in(self, message: Message) -> str | None:
        wanted = self.text.casefold()
        texts = map(part_text, message.parts)
        return next((excerpt_of(said, self.text) for said in texts if wanted in said.casefold()), None)

    def _tool_in(self, message: Message) -> str | None:
        return next((call.name for call in _calls(message) if call.name == self.tool), None)

    def _path_in(self, message: Message) -> str | None:
        wanted = posixpath.normpath(self.path)
        for path in (path for call in _calls(message) for path in _paths(call)):
            if f"/{wanted.strip('/')}/" in f"/{posixpath.normpath(path).strip('/')}/":
                return path
        return None


def _problems_in(format_name: str, read: StoredRecords) -> list[Problem]:
    """What a provider would refuse of the messages that are visible now."""
    if not format_name:
        return []
    return check(Conversation(log=ReadOnlyLog(read.records), format=format_name).messages, format=format_name)


def _payloads_in(record: Record) -> Iterator[bytes]:
    yield from (payload for payload, _ in messages_in(record))
    if isinstance(record, ViewChanged):
        yield from (payload for _, payload in record.replaced)


def _may_hold(text: str) -> Callable[[bytes], bool]:
    """Whether a message that is still JSON may hold a text: a quick no for nearly all that do not."""
    if not _PLAIN.fullmatch(text):
        return lambda _: True  # it may be written in several ways
    wanted = text.lower().encode()
    return lambda payload: wanted in payload.lower() or b"\\u" in payload


def _calls(message: Message) -> Iterator[ToolCall]:
    return (part for part in message.parts if isinstance(part, ToolCall))


def _paths(call: ToolCall) -> Iterator[str]:
    for action in describe(call):
        match action:
            case Reads(path) | Writes(path) | Lists(path):
                yield path
            case Searches(_, paths):
                yield from paths
