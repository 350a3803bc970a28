"""Programs of steps on a conversation: messages added, configurations processed, batches, requests, recalls."""

import contextlib
from collections.abc import Sequence
from functools import cache
from typing import Any

import redline
from fuzz.sandbox import BrokenProperty, Sandbox
from fuzz.seeds import dumped, histories
from fuzz.targets.message_lists import decoded_case
from fuzz.targets.target import Target, each_case
from redline.errors import RedlineError, ValidationError
from redline.record.blobs import MemoryBlobs
from redline.tokens import Estimate

__all__ = ["CONVERSATIONS"]

_NOW = 1_770_000_000_000.0
_MOST_STEPS = 60
_STEPS: list[dict[str, Any]] = [
    {"request": {"now": _NOW}},
    {"process": {"operation": "truncate", "truncate": {"keep_last": 3, "remove_first": 1, "range": {"start": 0, "end": 2}}}},
    {"process": {"operation": "insert", "insert": {"position": 1, "messages": [{"role": "user", "content": "new"}]}}},
    {
        "request": {
            "now": _NOW,
            "model": "claude-sonnet-4-5",
            "schedule": "when_free",
            "rules": ["stale_terminal", "long_results"],
        }
    },
    {"process": {"operation": "replace", "replace": {"index": 0, "message": {"role": "user", "content": "other"}}}},
    {"start_batch": {"boundary": 2}},
    {"process": {"operation": "filter", "filter": {"roles": ["user"], "content_contains": ["a"], "content_excludes": ["z"]}}},
    {"rollback": {"batch": 0}},
    {"recall": {"reference": "#2.0", "lines": "1-3", "grep": "line"}},
    {"process": {"operation": "clear", "clear": {"keep_system_message": True}}},
    {"pin": {"index": 1}},
    {"undo": {"strike": 0}},
    {"rewind": {"index": 1}},
    {"switch": {"branch": 0}},
    {"record_usage": {"input_tokens": 10, "output_tokens": 2, "cache_read_tokens": 5}},
    {
        "add_response": {
            "response": {"role": "assistant", "content": [{"type": "text", "text": "ok"}], "usage": {"input_tokens": 1}}
        }
    },
    {"request": {"now": _NOW, "rules": [], "schedule": "eager", "preamble": {"system": "s", "tools": []}}},
]


@cache
def _seeds() -> Sequence[bytes]:
    """Each history with some of the steps, and two with all."""
    found = []
    for number, (name, messages) in enumerate(histories()):
        steps = _STEPS if number % 5 == 2 else [*_STEPS[number % 7 :: 3], {"request": {"now": _NOW}}]
        limits = {"token_limit": 500, "system": "be short", "policy": "careful"} if number % 2 else {}
        found.append(dumped({"settings": {"format": name, **limits}, "messages": messages, "steps": steps}))
    return found


def _try(_: Sandbox, case: bytes) -> None:
    given = decoded_case(case)
    settings, messages, steps = given.get("settings"), given.get("messages"), given.get("steps")
    if not isinstance(settings, dict) or not isinstance(messages, list) or not isinstance(steps, list):
        raise ValidationError("no program")
    known = {key: settings[key] for key in ("format", "token_limit", "system", "policy", "model", "tools") if key in settings}
    with redline.Conversation(clock=lambda: _NOW, counter=Estimate(), blobs=MemoryBlobs(), **known) as talk:
        for message in messages:
            with contextlib.suppress(RedlineError):
                talk.add(message)
        for step in steps[:_MOST_STEPS]:
            with contextlib.suppress(RedlineError):
                _take(talk, step)
        _check(talk.request(now=_NOW))


def _take(talk: redline.Conversation, step: Any) -> None:
    """One step, if it is one, with the arguments that its method has."""
    if not isinstance(step, dict):
        return
    for name, arguments in step.items():
        names = _ARGUMENTS.get(name)
        if names is None:
            continue
        if name == "process":
            talk.process(arguments)
        elif isinstance(arguments, dict):
            found = {key: arguments[key] for key in names if key in arguments}
            if names[0] in found or name in ("request", "record_usage"):
                made = getattr(talk, name)(**found)
                if name == "request":
                    _check(made)


_ARGUMENTS: dict[str, tuple[str, ...]] = {
    "process": (),
    "request": ("now", "rules", "schedule", "model", "preamble"),
    "start_batch": ("boundary",),
    "rollback": ("batch",),
    "recall": ("reference", "lines", "grep", "max_chars"),
    "pin": ("index",),
    "undo": ("strike",),
    "rewind": ("index",),
    "switch": ("branch",),
    "record_usage": ("usage", "input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens"),
    "add_response": ("response", "timestamp_ms"),
}


def _check(request: redline.Request) -> None:
    """What is sent is legal."""
    if request.messages and (problems := redline.check(request.messages, format=request.format)):
        raise BrokenProperty(f"a request breaks {problems[0].law}")


CONVERSATIONS = Target("conversations", _seeds, each_case(_try), programs=("blobs/grep.py",))
