"""Lists of messages into the functions that take them: check, repair, simplify, offload, convert, and back."""

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import cache
from typing import Any

import redline
from fuzz.sandbox import BrokenProperty, Sandbox
from fuzz.seeds import dumped, histories
from fuzz.targets.target import Target, each_case
from redline.errors import RedlineError, ValidationError
from redline.providers import FORMATS, detect_format
from redline.values import payloads
from redline.values.payloads import Payload

__all__ = ["LISTS", "decoded_case", "is_ahead"]

_NOW = 1_770_000_000_000.0


@cache
def _seeds() -> Sequence[bytes]:
    return [dumped({"format": name, "messages": messages}) for name, messages in histories()]


def _try(sandbox: Sandbox, case: bytes) -> None:
    """Every function, also after one before it has refused the list."""
    given = decoded_case(case)
    messages: Any = given.get("messages")
    format: Any = given.get("format")
    target = list(FORMATS)[len(case) % len(FORMATS)]
    strategy: Any = ("drop", "answer", "strip")[len(case) % 3]
    functions: list[Callable[[], Any]] = [
        lambda: [asdict(problem) for problem in redline.check(messages, format=format)],
        lambda: redline.filter_messages(messages),
        lambda: detect_format(messages).name,
        lambda: redline.convert(messages, target=target, source=format).messages,
        lambda: redline.clean_orphaned_tool_calls(messages, format=format, strategy=strategy),
        lambda: redline.simplify_outdated_terminal_results(messages, now=_NOW, keep_recent=0, max_age_ms=0, format=format),
        lambda: redline.simplify_historical_file_reads(messages, project_root="/srv", keep_recent=1, format=format),
        lambda: _offload(sandbox, messages, format),
        lambda: redline.redact(payloads.encode(messages)),
    ]
    for function in functions:
        with contextlib.suppress(RedlineError):
            payloads.encode(function())
    for form in (format, detect_format(messages).name):
        legal = redline.make_legal(messages, format=form, strategy=strategy)
        if problems := redline.check(legal, format=form) if legal else ():
            raise BrokenProperty(f"make_legal left {problems[0].law}")


def _offload(sandbox: Sandbox, messages: Any, format: Any) -> list[Any]:
    moved = redline.offload_tool_results(messages, sandbox.out / "results", min_chars=3, format=format)
    for name in moved.files:
        redline.read_offloaded(name, sandbox.out / "results")
    return moved.messages


def decoded_case(case: bytes) -> dict[str, Any]:
    """A case as an object; one that is none is refused, as a caller could not have made it."""
    try:
        value = payloads.decode(case)
    except ValueError as problem:
        raise ValidationError("no JSON") from problem
    if not isinstance(value, dict):
        raise ValidationError("no object")
    return value


def is_ahead(message: Payload) -> bool:
    """Whether the system says it: ahead of the messages, an Editor leaves it to its caller."""
    value = payloads.decode(message)
    return isinstance(value, dict) and value.get("role") in ("system", "developer")


LISTS = Target("lists", _seeds, each_case(_try))
