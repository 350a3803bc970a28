"""One rule over a plain list of messages: outdated command output, and reads of files that were read again."""

import logging
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from os import PathLike, fspath

from redline.errors import ValidationError
from redline.formats import Format, read_history
from redline.messages import Message
from redline.payloads import Payload
from redline.placeholders import ZH
from redline.rules.historical_reads import HistoricalReads
from redline.rules.rule import Mark, Rule
from redline.rules.stale_terminal import StaleTerminal
from redline.rules.strike import struck_payload
from redline.tools import DEFAULT, Tool, ToolBook
from redline.view.facts import Facts, Seen

__all__ = ["simplify_historical_file_reads", "simplify_outdated_terminal_results"]

_log = logging.getLogger("redline.simplify")

_TERMINAL = Tool(runs="command")
_READ = Tool(reads="filePath file_path path paths files")
"""What a tool is taken for that is only named."""


def simplify_outdated_terminal_results(
    messages: Sequence[Payload],
    *,
    now: float,
    max_age_ms: float = 900_000,
    keep_recent: int = 5,
    tools: Collection[str] | ToolBook | None = None,
    placeholder: str = ZH.stale_terminal,
    format: str = "auto",
) -> list[Payload]:
    """The messages with outdated command output replaced by a line; `now` and their timestamps are in milliseconds.

    `tools` are the names of the tools that run commands, or a book of tools; without it, those of all known agents.
    """
    if not isinstance(now, int | float) or isinstance(now, bool):
        raise ValidationError(f"now must be the time in milliseconds since 1970, not {now!r}")
    book, names = _tools(tools, _TERMINAL)
    rule = StaleTerminal(max_age_ms, keep_recent, names, placeholder, may_grow=True)
    chosen, history = read_history(messages, format)
    folded = _fold(history, rule, book, now)
    _report("outdated terminal results", folded)
    return _struck(history, folded.marks, chosen)


def simplify_historical_file_reads(
    messages: Sequence[Payload],
    *,
    project_root: str | PathLike[str],
    keep_recent: int = 5,
    tools: Collection[str] | ToolBook | None = None,
    placeholder: str = ZH.historical_read,
    format: str = "auto",
) -> list[Payload]:
    """The messages with all but the latest reads of each file replaced by a line.

    `tools` are the names of the tools that read files, or a book of tools; without it, those of all known agents, and
    commands that do nothing but show files.
    """
    book, names = _tools(tools, _READ)
    rule = HistoricalReads(keep_recent, fspath(project_root), names, placeholder, may_grow=True)
    chosen, history = read_history(messages, format)
    folded = _fold(history, rule, book, 0)
    _report("historical file reads", folded)
    return _struck(history, folded.marks, chosen)


# --- tools by name


def _tools(tools: Collection[str] | ToolBook | None, kind: Tool) -> tuple[ToolBook, frozenset[str] | None]:
    """The book of tools, and the names that count, None for all. A name that is not in the book is of the kind."""
    if tools is None or isinstance(tools, ToolBook):
        return tools or DEFAULT, None
    if isinstance(tools, str):
        raise ValidationError(f"tools must be a list of names, not the one name {tools!r}; write [{tools!r}]")
    names = frozenset(tools)
    return DEFAULT.with_tools({name: kind for name in names if not _is_known(name, kind)}), names


def _is_known(name: str, kind: Tool) -> bool:
    tool = DEFAULT.tools.get(name, Tool())
    is_of_kind = tool.is_read if kind.is_read else tool.is_terminal
    return is_of_kind or any(key.startswith(f"{name} ") for key in DEFAULT.tools)


# --- the fold


@dataclass(slots=True)
class _Folded:
    """What a rule marked in a list of messages, and for the report what it saw there."""

    reading: frozenset[str]
    """The tools that must be known to read."""
    marks: list[Mark] = field(default_factory=list)
    results: int = 0
    unattributed: list[tuple[int, str]] = field(default_factory=list)
    """Results of which it is not known what they are: the message's position, and the tool or `unknown`."""

    def count(self, seen: Seen) -> None:
        """One more result."""
        self.results += 1
        tool = seen.tool
        if tool is None or (tool in self.reading and not seen.actions):
            self.unattributed.append((seen.index, tool or "unknown"))


def _fold(history: Sequence[Message], rule: Rule, tools: ToolBook, now: float) -> _Folded:
    facts, fold = Facts(tools), rule.fold()
    folded = _Folded(tools.read_tools() if isinstance(rule, HistoricalReads) else frozenset())
    is_reported = _log.isEnabledFor(logging.INFO)
    for index, message in enumerate(history):
        for seen in facts.add(index, message):
            if seen.result is None:
                continue
            folded.marks.extend(fold.see(seen))
            if is_reported:
                folded.count(seen)
    folded.marks.extend(fold.due(now))
    return folded


def _struck(history: Sequence[Message], marks: Sequence[Mark], format: Format) -> list[Payload]:
    """The list with the marks carried out; unmarked messages are the very same objects."""
    after = [message.native for message in history]
    marks_on: dict[int, list[Mark]] = {}
    for mark in marks:
        marks_on.setdefault(mark.index, []).append(mark)
    for index, own in marks_on.items():
        payload = struck_payload(history[index], own, format)
        if payload is not None:
            after[index] = payload
    return after


def _report(what: str, folded: _Folded) -> None:
    if folded.marks:
        files = ", ".join(sorted({path for mark in folded.marks for path in mark.about}))
        of_files = f": {files}" if files else ""
        _log.info("simplified %d %s of %d results%s", len(folded.marks), what, folded.results, of_files)
    if folded.unattributed:
        _log.info("%s: %d results could not be attributed and stay as they are", what, len(folded.unattributed))
    if _log.isEnabledFor(logging.DEBUG):
        _report_details(folded)


def _report_details(folded: _Folded) -> None:
    for mark in folded.marks:
        _log.debug("message %d: %s", mark.index, mark.because)
    for index, tool in folded.unattributed:
        _log.debug("message %d: not attributed (tool %s)", index, tool)
