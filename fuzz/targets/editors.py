"""Lists that are sent again and again into an Editor, with its settings, reports and recalls."""

import contextlib
from collections.abc import Sequence
from functools import cache
from itertools import dropwhile
from typing import Any

import redline
from fuzz.sandbox import BrokenProperty, Sandbox
from fuzz.seeds import dumped, histories
from fuzz.targets.message_lists import decoded_case, is_ahead
from fuzz.targets.target import Target, each_case
from redline.errors import RedlineError
from redline.record.blobs import MemoryBlobs
from redline.tokens import Estimate
from redline.values import payloads

__all__ = ["EDITORS"]

_NOW = 1_770_000_000_000.0
_SETTINGS = ("session", "model", "preamble", "format", "namespace", "times", "lifetime", "now")


@cache
def _seeds() -> Sequence[bytes]:
    """Two lists each, the second of which goes on with the first."""
    found = []
    for number, (name, messages) in enumerate(histories()):
        settings = {"format": name, "session": "s", "model": "claude-sonnet-4-5", "lifetime": "5m", "preamble": {"tools": []}}
        lists = [messages[: len(messages) // 2], messages]
        usage = {"input_tokens": 10, "output_tokens": 1, "cache_read_input_tokens": 5}
        case = {"settings": settings if number % 2 else {}, "lists": lists, "usage": usage, "recall": "#2.0", "policy": "bold"}
        found.append(dumped(case))
    return found


def _try(sandbox: Sandbox, case: bytes) -> None:
    given = decoded_case(case)
    settings: Any = given.get("settings")
    lists: Any = given.get("lists")
    known = {key: settings[key] for key in _SETTINGS if key in settings} if isinstance(settings, dict) else {}
    store = sandbox.out / "store" if len(case) % 10 == 0 else None
    blobs, clock = MemoryBlobs(), lambda: _NOW
    with redline.Editor(store, policy=given.get("policy"), clock=clock, counter=Estimate(), blobs=blobs) as editor:
        for messages in lists if isinstance(lists, list) else [lists]:
            with contextlib.suppress(RedlineError):
                edited = editor.edit(messages, **known)
                if _is_plain(messages):
                    _check(edited)
                for act in (
                    lambda: editor.report(edited, given.get("usage")),  # noqa: B023 - called at once
                    lambda: editor.recall(given.get("recall"), request=edited),  # type: ignore[arg-type]  # noqa: B023
                    lambda: editor.recorded(messages, format=edited.format),  # noqa: B023
                    lambda: editor.withdraw(edited),  # noqa: B023
                ):
                    with contextlib.suppress(RedlineError):
                        act()


def _is_plain(messages: object) -> bool:
    """Whether JSON holds it: without NaN and infinity, of which an Editor sends on what it was given."""
    return bool(payloads.decode(payloads.encode({"": messages}))[""] == messages)


def _check(edited: redline.EditedRequest) -> None:
    """What is followed is legal as it is sent, unless nothing of it can be."""
    if edited.untouched or not edited.messages:
        return
    said = list(dropwhile(is_ahead, edited.messages))  # what is ahead of them, and fields that are not known, are the caller's
    problems = [one for one in redline.check(said, format=edited.format) if one.law != "known_fields"]
    if problems and (edited.is_changed or redline.make_legal(said, format=edited.format)):
        raise BrokenProperty(f"an edited list breaks {problems[0].law}")
    payloads.decode(edited.body)


EDITORS = Target("editors", _seeds, each_case(_try), programs=("blobs/grep.py",))
