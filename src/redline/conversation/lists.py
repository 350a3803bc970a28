"""Functions on plain lists of messages: each returns new values and never touches its input."""

import logging
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any

import msgspec

from redline.engine.sent import struck_payload
from redline.errors import ValidationError
from redline.prices.find import Model, check_model, model_name
from redline.providers import find_format, read_history, read_messages
from redline.providers.format import Format
from redline.providers.laws import History, Problem, problems_of
from redline.providers.laws.request_limits import within_request_limits
from redline.providers.limits.surplus_tools import called_tools, tool_count, without_surplus_tools
from redline.providers.limits.table import limits_of
from redline.providers.translate import Loss, translate
from redline.record.blobs.directory import ResultFolder, file_name_in, read_offloaded
from redline.record.blobs.retrieval import is_recall
from redline.repair import Change, Repair, Strategy, check_strategy
from redline.repair.legalizer import Legalizer, clean, legalize
from redline.rules.facts import LATEST_MS, Facts
from redline.rules.historical_reads import HistoricalReads
from redline.rules.rule import Mark
from redline.rules.stale_terminal import StaleTerminal
from redline.tools import DEFAULT, ToolBook, choose_tools
from redline.tools.failures import DOCUMENTS_SIGNS
from redline.values import payloads
from redline.values.messages import Message, Text, ToolCall, ToolResult
from redline.values.payloads import Payload
from redline.values.words import REFERENCE, ZH, Language, Placeholders, check_template, make_words

__all__ = [
    "Conversion",
    "OffloadResult",
    "check",
    "clean_orphaned_tool_calls",
    "convert",
    "legal_tools",
    "make_legal",
    "offload_tool_results",
    "read_offloaded",
    "simplify_historical_file_reads",
    "simplify_outdated_terminal_results",
]


def check(messages: Sequence[Payload], *, format: str = "auto", model: Model | None = None) -> list[Problem]:
    """Every problem that would make the provider refuse these messages, in order; an empty list if there is none.

    How many pictures a request may hold differs by model. Without `model` the smallest limit of the provider's models counts.
    """
    chosen, history = read_history(messages, format)
    return problems_of(History.of(history, chosen, model=model_name(check_model(model))))


_repair_log = logging.getLogger("redline.repair")


def clean_orphaned_tool_calls(messages: Sequence[Payload], *, format: str = "auto", strategy: Strategy = "drop") -> list[Any]:
    """The messages with every tool call answered directly after it, and no result that nobody asked for.

    `drop` removes an assistant message with an unanswered call whole, and the results of its other calls; `answer` keeps it
    and adds a result that says it was interrupted; `strip` removes only the call. Messages that need no change are the same
    objects.
    """
    check_strategy(strategy)
    chosen, history = read_history(messages, format)
    return _written(clean(history, chosen, strategy), chosen)


def make_legal(
    messages: Sequence[Payload], *, format: str = "auto", strategy: Strategy = "drop", model: Model | None = None
) -> list[Any]:
    """The messages such that `check` finds nothing, losing as little as possible.

    Results that come too late are first moved to their calls; then the strategy treats the calls without a result, as in
    `clean_orphaned_tool_calls`; then comes what the provider asks besides: ids that it accepts and that no other call has,
    results together and in front, a user message first, nothing empty, no field that it does not take. What the system says at
    a place where it cannot is said by the user. Where it is too much for one request, the oldest pictures give way to a line,
    then the largest results; `model` says whose limits count. A list that is legal comes back with the same objects.
    """
    check_strategy(strategy)
    chosen, history = read_history(messages, format)
    return _sent(_written(legalize(history, chosen, strategy, model_name(check_model(model))), chosen), chosen)


def legal_tools(
    tools: Sequence[Any], messages: Sequence[Payload], *, model: Model | None = None, format: str = "auto"
) -> list[Any]:
    """As many of the tools as the model's provider takes: those that `messages` never call go, the latest first.

    They come back as they are where nothing is known of the model, and where they are few enough.
    """
    chosen, history = read_history(messages, format)
    most = limits_of(chosen.name, model_name(check_model(model))).tools
    if not most or tool_count(tools) <= most:
        return list(tools)
    return without_surplus_tools(tools, most, called_tools(history, chosen))[0]


def _written(repair: Repair, format: Format) -> list[Any]:
    if repair.changes:
        _repair_log.info("%d changes made the messages legal to send", len(repair.changes))
    for change in repair.changes:
        _repair_log.debug("%s", change)
    return [format.write(item.message) for item in repair.items]


@dataclass(frozen=True, slots=True)
class Conversion:
    """The messages in the target format, legal to send."""

    messages: list[Any]
    system: str | None
    """The system prompt, where the target holds it beside the messages."""
    lost: tuple[Loss, ...] = ()
    """What could not be carried. Empty: nothing is missing."""
    repairs: tuple[Change, ...] = ()
    """What was done so that the provider takes them. Empty: nothing had to be."""


def convert(
    messages: Sequence[Payload], *, target: str, source: str = "auto", system: str | None = None, strategy: Strategy = "answer"
) -> Conversion:
    """The messages in the format `target`, so that another provider can go on with the conversation.

    `system` is the system prompt that the source holds beside its messages. A call without a result is treated by the strategy,
    as in `make_legal`; by default it is answered as interrupted, so that nothing that was said is lost. Calls keep their ids,
    but for those that are missing, used twice or refused: such a call and its result get an id made from their place.
    """
    check_strategy(strategy)
    reader, history = read_history(messages, source)
    repaired = Legalizer.over(history, reader, strategy, lifts_system=True).repair()
    if reader.name == target:
        repaired = within_request_limits(repaired, reader)
        prompts, rest = [system] if system else [], list[Payload]()
        for item in repaired.items:
            if reader.is_apart(item.message, has_begun=bool(rest)):
                prompts.append(item.message.text)
            else:
                rest.append(item.message.native)
        return Conversion(_sent(rest, reader), "\n\n".join(prompts) or None, (), repaired.changes)
    sources = [item.index for item in repaired.items]
    natives = [reader.write(item.message) for item in repaired.items]
    there = translate(natives, source=reader.name, target=target, system=system)
    again = legalize(read_messages(there.messages, target), find_format(target), strategy)
    lost = [Loss(max(sources[loss.index], 0), loss.what) for loss in there.lost]
    more = [msgspec.structs.replace(change, index=sources[there.origins[change.index]]) for change in again.changes]
    sent = _sent([item.message.native for item in again.items], find_format(target))
    return Conversion(sent, there.system, tuple(lost), (*repaired.changes, *more))


def _sent(natives: Sequence[Payload], writer: Format) -> list[Payload]:
    """The messages without what the provider does not take."""
    return writer.within_limits([writer.sendable(payload) for payload in natives])


_simplify_log = logging.getLogger("redline.simplify")

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
    words: Placeholders | Language = ZH,
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
    return _simplified(history, chosen, rule, now=now, what="outdated terminal results")


def simplify_historical_file_reads(
    messages: Sequence[Payload],
    *,
    project_root: str | PathLike[str],
    keep_recent: int = 5,
    tools: Collection[str] | ToolBook | None = None,
    placeholder: str | None = None,
    words: Placeholders | Language = ZH,
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
    return _simplified(history, chosen, rule, now=0, what="historical file reads")


def _simplified(
    history: Sequence[Message], format: Format, rule: StaleTerminal | HistoricalReads, *, now: float, what: str
) -> list[Payload]:
    """The list with the marks of a rule applied, and a report of them; unmarked messages are the very same objects."""
    facts, fold, marks = Facts(signs=DOCUMENTS_SIGNS), rule.fold(), list[Mark]()
    results, unattributed = 0, list[tuple[int, str]]()  # each by its message's position and its tool
    is_reported = _simplify_log.isEnabledFor(logging.INFO)
    choice = choose_tools(rule.tools if isinstance(rule, HistoricalReads) else (), "reads")
    reading = (choice.book or DEFAULT).read_tools() if choice.names is None else choice.names
    for index, message in enumerate(history):
        for seen in facts.add(index, message):
            if seen.result is None:
                continue
            marks.extend(fold.see(seen))
            if is_reported:
                results += 1
                if seen.tool is None or (seen.tool in reading and not seen.in_book(choice.book).actions):
                    unattributed.append((index, seen.tool or "unknown"))
    marks.extend(fold.due(now))
    _report(what, marks, results, unattributed)
    after, marks_on = [message.native for message in history], dict[int, list[Mark]]()
    for mark in marks:
        marks_on.setdefault(mark.index, []).append(mark)
    for index, own in marks_on.items():
        if (payload := struck_payload(history[index], own, format)) is not None:
            after[index] = payload
    return after


def _report(what: str, marks: Sequence[Mark], results: int, unattributed: Sequence[tuple[int, str]]) -> None:
    if marks:
        files = ", ".join(sorted({path for mark in marks for path in mark.about}))
        _simplify_log.info("simplified %d %s of %d results%s", len(marks), what, results, f": {files}" if files else "")
    if unattributed:
        _simplify_log.info("%s: %d results could not be attributed and stay as they are", what, len(unattributed))
    for mark in marks:
        _simplify_log.debug("message %d: %s", mark.index, mark.because)
    for index, tool in unattributed:
        _simplify_log.debug("message %d: not attributed (tool %s)", index, tool)


_offload_log = logging.getLogger("redline.offload")


class OffloadResult(msgspec.Struct, frozen=True):
    """What `offload_tool_results` did."""

    messages: list[Any]
    """The messages to send; one that did not change is the very same object."""
    offloaded_count: int
    freed_chars: int
    """The characters of the results that moved, as they were."""
    files: list[str]
    """The absolute paths of the files, in the order of the results."""


def offload_tool_results(
    messages: Sequence[Payload],
    output_dir: str | PathLike[str],
    *,
    min_chars: int = 100,
    min_ratio: float = 0.0,
    reference: str = REFERENCE,
    recall_tool: str = "recall",
    format: str = "auto",
) -> OffloadResult:
    """Move results of at least `min_chars` characters to files, and leave references, in messages of any of the formats.

    Nothing moves unless what can move is `min_ratio` of all characters (texts, tool inputs, results). `reference` is
    the template of what is left; `{name}` is the file's name. What the tool named `recall_tool` read back stays, or the
    model would never get to see it. A message that changes shares nothing with the one that was given.
    """
    if min_chars < 0 or not 0 <= min_ratio <= 1:
        raise ValidationError(
            f"min_chars must not be negative, and min_ratio lies between 0 and 1; got {min_chars} and {min_ratio}"
        )
    check_template(reference, "offload_tool_results", "name")
    if file_name_in(reference.format(name="tool-result-x.md")) is None:
        raise ValidationError(f"The reference {reference!r} must hold {{name}}, or the result could not be found again")
    chosen, history = read_history(messages, format)
    moving = _moving_results(history, min_chars=min_chars, reference=reference, recall_tool=recall_tool)
    freed = sum(len(text) for results in moving for _, text in results)
    chars = 0
    for message, part in ((one, part) for one in history for part in one.parts):
        match part:
            case Text(text):
                chars += len(text)
            case ToolCall(input=value):
                chars += len(_json(value))
            case ToolResult():
                chars += len(_content(message, part))
    if not freed or freed / chars < min_ratio:
        return OffloadResult(list(messages), 0, 0, [])
    folder, after = ResultFolder(output_dir), list[Payload]()
    for message, results in zip(history, moving, strict=True):
        moved = message
        for result, text in results:
            moved = chosen.rewrite(moved, result, reference.format(name=folder.store(result.call_id, text)))
        payload = chosen.write(moved)
        after.append(_copied(payload) if results and isinstance(payload, dict) else payload)
    folder.sync()
    _offload_log.info("offloaded %d tool results, %d characters, to %s", len(folder.files), freed, folder.path)
    return OffloadResult(after, len(folder.files), freed, folder.files)


def _moving_results(
    history: Sequence[Message], *, min_chars: int, reference: str, recall_tool: str
) -> list[list[tuple[ToolResult, str]]]:
    """For each message its results that move, each with the text that is stored."""
    facts, found = Facts(), list[list[tuple[ToolResult, str]]]()
    for index, message in enumerate(history):
        moving = []
        for seen in facts.add(index, message):
            result = seen.result
            if result is None or is_recall(seen.tool, recall_tool):
                continue
            text = _content(message, result)
            if not text or len(text) < min_chars:
                continue
            name = file_name_in(text)
            if name is None or text not in (reference.format(name=name), REFERENCE.format(name=name)):
                moving.append((result, text))
        found.append(moving)
    return found


def _content(message: Message, result: ToolResult) -> str:
    """A content that is a string, or the compact JSON of one that is a list; nothing for any other."""
    if not result.parts:
        return ""
    *outer, last = result.parts[0].at
    if isinstance(last, int):
        return _json(payloads.value_at(payloads.decode(message.native), tuple(outer)))
    return result.text


def _json(value: Any) -> str:
    return payloads.encode(value).decode()


def _copied(payload: dict[str, Any]) -> dict[str, Any]:
    """Its objects and lists anew, as deep as they go: no recursion, which ends before JSON does."""
    whole = dict(payload)
    open_values: list[Any] = [whole]
    while open_values:
        value = open_values.pop()
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            if isinstance(inner, dict | list):
                value[key] = inner.copy()
                open_values.append(value[key])
    return whole
