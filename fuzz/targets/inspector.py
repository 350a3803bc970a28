"""Requests into the inspector: methods, paths, queries, headers and bodies, over a log and a session file."""

import asyncio
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any

from fuzz.sandbox import BrokenProperty, Sandbox
from fuzz.seeds import dumped, session_files
from fuzz.targets.http import Answered, BugLog, HttpCase, ask
from fuzz.targets.logs import line_seeds
from fuzz.targets.message_lists import decoded_case
from fuzz.targets.target import Target, Trial
from redline.inspector.app import make_app
from redline.inspector.guard import InspectorSettings

__all__ = ["INSPECTOR"]

_TOKEN = "token-of-the-page"
_PAGES = (
    "",
    "/messages?from=0&count=5",
    "/messages?indices=0,2-4",
    "/part?index=1&at=content.0",
    "/image?index=0&at=content.1",
    "/find?text=line&role=user&tool=read&kind=struck",
    "/requests/0?policy=careful",
    "/strikes?policy=bold",
    "/timeline?points=20",
    "/records?branch=0",
    "/compare?a=0&b=1&policy_a=careful&policy_b=sent",
)
_BODIES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("/actions", {"action": "pin", "index": 1}),
    ("/actions", {"action": "undo", "strike": 0}),
    ("/actions", {"action": "rewind", "index": 1}),
    (
        "/what-if",
        {"rules": [{"name": "stale_terminal", "settings": {"keep_recent": 1}}], "schedule": {"name": "eager", "settings": {}}},
    ),
    ("/what-if", {"policy": "careful", "price": "claude-sonnet-4-5"}),
)
_HEADERS = {
    "host": "localhost",
    "cookie": f"a[b]=c; redline_token_8585={_TOKEN}",
    "accept-encoding": "gzip",
    "origin": "http://localhost",
}
_OTHER_PATHS = ("/api/sessions", "/api/policies", "/api/none", "/page/dom.js", "/page/../x", "/s/x?token=y")


@cache
def _seeds() -> Sequence[bytes]:
    gets = [f"/api/sessions/ID{number}{page}" for page in _PAGES for number in (0, 1)]
    asked: list[dict[str, Any]] = [
        {"method": "GET", "path": path, "headers": _HEADERS, "body": ""} for path in (*gets, *_OTHER_PATHS)
    ]
    posting = {**_HEADERS, "x-redline-token": _TOKEN, "content-type": "application/json"}
    asked += [
        {"method": "POST", "path": f"/api/sessions/ID{number}{page}", "headers": posting, "body": json.dumps(body)}
        for page, body in _BODIES
        for number in (0, 1)
    ]
    return [dumped(one) for one in asked]


@contextmanager
def _opened(sandbox: Sandbox) -> Iterator[Trial]:
    bugs, log = BugLog(), sandbox.kept / "log.jsonl"
    content = max(line_seeds(), key=len)
    log.write_bytes(content)
    (sandbox.kept / "session.jsonl").write_bytes(session_files()[0])
    app = make_app(InspectorSettings(places=(str(sandbox.kept),), token=_TOKEN))
    with asyncio.Runner() as runner:
        listing = HttpCase.of(
            {"method": "GET", "path": "/api/sessions", "headers": {"host": "localhost", "x-redline-token": _TOKEN}}
        )
        listed = json.loads(runner.run(ask(app, listing)).body)["sessions"]
        ids = sorted((row["path"], row["id"]) for row in listed)

        def trial(case: bytes) -> None:
            given = decoded_case(case)
            path = str(given.get("path"))
            for number, (_, id) in enumerate(ids):
                path = path.replace(f"ID{number}", id)
            request = HttpCase.of({**given, "path": path})
            answered = runner.run(asyncio.wait_for(ask(app, request, stays=b"events" not in request.path), 8))
            bugs.raise_first()
            if log.read_bytes() != content:
                log.write_bytes(content)
            _check(answered, request)

        yield trial


def _check(answered: Answered, request: HttpCase) -> None:
    if len(answered.statuses) != 1 or answered.statuses[0] >= 500:
        raise BrokenProperty(f"the answers are {answered.statuses}: {answered.body[:100]!r}")
    is_json = answered.headers.get(b"content-type", b"").startswith(b"application/json")
    if answered.statuses[0] in (400, 409) and not (is_json or request.method == "HEAD"):
        raise BrokenProperty("a refusal is no JSON")


INSPECTOR = Target("inspector", _seeds, _opened)
