"""One rule over a plain list of messages: outdated command output, and reads of files that were read again."""

import logging
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from os import PathLike
from typing import Any

from redline.engine.strike import struck_payload
from redline.errors import ValidationError
from redline.formats import Format, read_history
from redline.rules.facts import LATEST_MS, Facts
from redline.rules.failures import DOCUMENTS_SIGNS
from redline.rules.historical_reads import HistoricalReads
from redline.rules.rule import Mark
from redline.rules.stale_terminal import StaleTerminal
from redline.tools import DEFAULT, ToolBook, choose_tools
from redline.values.messages import Message
from redline.values.payloads import Payload
from redline.values.words import DOCUMENTS, Words, make_words

__all__ = ["simplify_historical_file_reads", "simplify_outdated_terminal_results"]

_log = logging.getLogger("redline.simplify")

_SECONDS_FROM, _SECONDS_TO = 1e9, 1e11
"""Times since 2001 in seconds; in milliseconds they would be of the years 1970 to 1973."""


def simplify_outdated_terminal_results(
    messages: Sequence[Payload],
    *,
    now: float,
    max_age_ms: float = 900_000,
    keep_recent: int = 5,
    tools: Collection[str] | ToolBook | None = None,
    placeholder: str | None = None,
    words: Words | str = DOCUMENTS,
    format: str = "auto",
) -> list[Any]:
    """The messages with outdated command output replaced by a line; `now` and their timestamps are in milliseconds.

    `tools` are the names of the tools that run commands, or a book of tools; without it, those of all known agents.
    `placeholder` is the line, if not that of the words.
    """
    if not isinstance(now, int | float) or isinstance(now, bool) or not abs(now) <= LATEST_MS:
        raise ValidationError(f"now must be the time in milliseconds since 1970, not {now!r}")
    rule = StaleTerminal(max_age_ms, keep_recent, tools, placeholder, may_grow=True, words=make_words(words, ""))
    chosen, history = read_history(messages, format)
    # Seconds instead of milliseconds would make every message lie in the future, and silently keep all of them.
    if _SECONDS_FROM <= now < _SECONDS_TO and any((message.timestamp_ms or 0) >= _SECONDS_TO for message in history):
        raise ValidationError(f"now={now!r} looks like seconds, where the messages have milliseconds; pass {now * 1000:.0f}")
    folded = _fold(history, rule, now)
    _report("outdated terminal results", folded)
    return _struck(history, folded.marks, chosen)


def simplify_historical_file_reads(
    messages: Sequence[Payload],
    *,
    project_root: str | PathLike[str],
    keep_recent: int = 5,
    tools: Collection[str] | ToolBook | None = None,
    placeholder: str | None = None,
    words: Words | str = DOCUMENTS,
    shell_reads: bool = False,
    format: str = "auto",
) -> list[Any]:
    """The messages with all but the latest reads of each file replaced by a line.

    `tools` are the names of the tools that read files, or a book of tools; without it, those of all known agents.
    With `shell_reads`, commands that do nothing but show files (`cat a.py`) are reads too. `placeholder` is the line, if
    not that of the words.
    """
    rule = HistoricalReads(
        keep_recent, project_root, tools, placeholder, may_grow=True, shell_reads=shell_reads, words=make_words(words, "")
    )
    chosen, history = read_history(messages, format)
    folded = _fold(history, rule, 0)
    _report("historical file reads", folded)
    return _struck(history, folded.marks, chosen)


@dataclass(slots=True)
class _Folded:
    """What a rule marked in a list of messages, and for the report what it saw there."""

    marks: list[Mark] = field(default_factory=list)
    results: int = 0
    unattributed: list[tuple[int, str]] = field(default_factory=list)
    """Results of which it is not known what they are: the message's position, and the tool or `unknown`."""


def _fold(history: Sequence[Message], rule: StaleTerminal | HistoricalReads, now: float) -> _Folded:
    facts, fold, folded = Facts(signs=DOCUMENTS_SIGNS), rule.fold(), _Folded()
    is_reported = _log.isEnabledFor(logging.INFO)
    choice = choose_tools(rule.tools if isinstance(rule, HistoricalReads) else (), "reads")
    reading = (choice.book or DEFAULT).read_tools() if choice.names is None else choice.names
    for index, message in enumerate(history):
        for seen in facts.add(index, message):
            if seen.result is None:
                continue
            folded.marks.extend(fold.see(seen))
            if is_reported:
                folded.results += 1
                if seen.tool is None or (seen.tool in reading and not seen.in_book(choice.book).actions):
                    folded.unattributed.append((index, seen.tool or "unknown"))
    folded.marks.extend(fold.due(now))
    return folded


def _struck(history: Sequence[Message], marks: Sequence[Mark], format: Format) -> list[Payload]:
    """The list with the marks applied; unmarked messages are the very same objects."""
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
    if not _log.isEnabledFor(logging.DEBUG):
        return
    for mark in folded.marks:
        _log.debug("message %d: %s", mark.index, mark.because)
    for index, tool in folded.unattributed:
        _log.debug("message %d: not attributed (tool %s)", index, tool)
