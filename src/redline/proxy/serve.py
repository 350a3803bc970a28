"""Runs a proxy: binds its socket, says where it listens, and serves until it is told to stop."""

import functools
import logging
import os
import sys
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import replace

import uvicorn
from uvicorn.supervisors import Multiprocess

from redline.conversation.editor import Editor
from redline.policy.policy import Policy, find_policy
from redline.proxy.accounts import Accounts, accounts_path
from redline.proxy.cleaning import marked_as_running, unused_deleted
from redline.proxy.http import HttpProtocol
from redline.proxy.relay import Relay
from redline.proxy.settings import ProxySettings
from redline.record.blobs.blobs import Blobs, MemoryBlobs, reference_of
from redline.record.blobs.opening import open_blobs
from redline.redaction import redact
from redline.servers.listening import bind, ended_by_signals, handed_over
from redline.servers.ownership import SERVED_RUN, known_keys
from redline.tokens import Estimate
from redline.transport.editing import WireEditor
from redline.transport.holdout import parse_share

_SHUTDOWN_S = 5
"""Answers under way get this long to end."""
_SAY_AGAIN_S = 60.0
_KNOWN_S = 300.0
"""A result that was stored is not stored again for so long; whoever tidies up leaves what is younger than that alone."""
_MOST_KNOWN = 10_000
_BLOB_S = 2.0
"""So long a bucket may take to store a result. The request does not wait for it, but the next one of its session does."""


def serve(settings: ProxySettings, *, on_ready: Callable[[ProxySettings], None]) -> None:
    """Serve until SIGINT or SIGTERM. `on_ready` is told the settings, with the port, once the socket is bound."""
    listening = handed_over() or bind(settings.host, settings.port)
    port, run, keys = listening.getsockname()[1], os.environ.pop(SERVED_RUN, ""), known_keys(settings.token)
    running = replace(settings, port=port, started_at=time.time(), run=run, keys=keys)
    config = uvicorn.Config(
        functools.partial(make_relay, running),
        factory=True,
        loop="uvloop" if sys.platform != "win32" else "asyncio",
        http=HttpProtocol,
        ws="none",
        lifespan="on",
        workers=running.workers,
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=False,
        proxy_headers=False,
        timeout_keep_alive=75,
        timeout_graceful_shutdown=_SHUTDOWN_S,
    )
    on_ready(running)
    with ended_by_signals(), listening, marked_as_running(running.store), unused_deleted(running):
        if running.workers == 1:
            uvicorn.Server(config).run(sockets=[listening])
        else:
            Multiprocess(config, sockets=[listening]).run()


def make_relay(settings: ProxySettings) -> Relay:
    """The application, once in every worker."""
    _log_to_stderr()
    accounts = Accounts(
        accounts_path(settings.store), since=settings.started_at, limits=settings.limits, prices=settings.prices
    )
    observer = None
    if settings.exports_telemetry:  # else OpenTelemetry is not imported
        from redline.proxy.telemetry import ProxyTelemetry
        from redline.telemetry.switch import exporting_instruments

        instruments, send_last = exporting_instruments()
        observer = ProxyTelemetry(instruments, settings.policy, send_last)
    return Relay(settings, functools.partial(_open_editor, settings), accounts, observer)


def _open_editor(settings: ProxySettings) -> WireEditor:
    """Counts tokens by estimate: the provider reports them anyway, and a vocabulary would take 30 MB in every worker."""
    policy, redaction = find_policy(settings.policy), redact if settings.redacts else None
    _warm_up(policy)
    blobs = _StoredResults(open_blobs(settings.blobs, max_seconds=_BLOB_S)) if settings.blobs else None
    whole_in = settings.whole_place.folder or None
    editor = Editor(settings.store, policy=policy, redact=redaction, counter=Estimate(), blobs=blobs, whole_in=whole_in)
    return WireEditor(
        editor,
        edits_subscriptions=settings.edits_subscriptions,
        is_dry_run=settings.is_dry_run,
        holdout=parse_share(settings.holdout),
    )


def _warm_up(policy: Policy) -> None:
    """Edit a history in memory, to load all modules: else a resumed session's first request would miss its deadline."""
    call = {"type": "tool_use", "id": "c", "name": "Read", "input": {"file_path": "/a"}}
    result = {"type": "tool_result", "tool_use_id": "c", "content": "one line\n" * 100}
    history = [("user", "go"), ("assistant", [call]), ("user", [result]), ("assistant", "done"), ("user", "go on")]
    with Editor(policy=policy, counter=Estimate(), blobs=MemoryBlobs()) as editor:
        editor.edit([{"role": role, "content": content} for role, content in history], format="anthropic")


def _log_to_stderr() -> None:
    """A line a request. What the server itself would say of broken connections is in these lines."""
    logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)
    logger = logging.getLogger("redline")
    if not any(isinstance(handler, logging.StreamHandler) for handler in logger.handlers):
        handler = logging.StreamHandler()
        handler.setFormatter(logging.Formatter("%(asctime)s %(message)s", "%H:%M:%S"))
        handler.addFilter(_Once())
        logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    logging.getLogger("redline.request").setLevel(logging.WARNING)  # the proxy's own line says it, and more


class _Once(logging.Filter):
    """Lets one error pass, and for a minute none like it: a store that is down fails at every request."""

    def __init__(self) -> None:
        super().__init__()
        self._said: dict[tuple[str, object], float] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether the record is logged."""
        if record.levelno < logging.ERROR:
            return True
        kind = str(record.msg), record.exc_info[0] if record.exc_info else None
        is_new = record.created - self._said.get(kind, 0.0) > _SAY_AGAIN_S
        if is_new:
            self._said[kind] = record.created
        return is_new


class _StoredResults:
    """Blobs that remember what they stored lately.

    An edit has a tenth of a second, and a bucket often takes longer. The edit is then given up, but its result gets stored; the
    next request finds it here and is edited in time.
    """

    def __init__(self, blobs: Blobs) -> None:
        self._blobs = blobs
        self._known: OrderedDict[str, float] = OrderedDict()
        self._lock = threading.Lock()

    def put(self, content: bytes) -> str:
        """Store the bytes, unless that was done lately."""
        reference = reference_of(content)
        if time.monotonic() - self._known.get(reference, float("-inf")) < _KNOWN_S:
            return reference
        self._blobs.put(content)
        with self._lock:
            self._known[reference] = time.monotonic()
            self._known.move_to_end(reference)
            while len(self._known) > _MOST_KNOWN:
                self._known.popitem(last=False)
        return reference

    def get(self, reference: str) -> bytes:
        """The bytes."""
        return self._blobs.get(reference)

    def list(self) -> Iterator[str]:
        """The references of all that is stored."""
        return self._blobs.list()

    def delete(self, reference: str) -> None:
        """Forget the bytes."""
        self._known.pop(reference, None)
        self._blobs.delete(reference)
