"""Runs a proxy: binds its socket, says where it listens, and serves until it is told to stop."""

import functools
import logging
import os
import sys
import time
from collections.abc import Callable
from dataclasses import replace

import uvicorn
from uvicorn.supervisors import Multiprocess

from redline.blobs.memory import MemoryBlobs
from redline.blobs.opening import open_blobs
from redline.editor import Editor
from redline.listening import bind, ended_by_signals, handed_over
from redline.ownership import SERVED_RUN, known_keys
from redline.policy import Policy
from redline.presets import find_policy
from redline.proxy.accounts import Accounts, accounts_path
from redline.proxy.edit_threads import CallEditor
from redline.proxy.exchange import SettlementObserver
from redline.proxy.http_protocol import HttpProtocol
from redline.proxy.relay import Relay
from redline.proxy.settings import ProxySettings
from redline.proxy.stored_results import StoredResults
from redline.redaction import redact
from redline.tokens import Estimate
from redline.wire.editing import WireEditor

__all__ = ["make_relay", "serve"]

_SHUTDOWN_S = 5
"""Answers under way get this long to end."""
_SAY_AGAIN_S = 60.0
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
    with ended_by_signals(), listening:
        if running.workers == 1:
            uvicorn.Server(config).run(sockets=[listening])
        else:
            Multiprocess(config, sockets=[listening]).run()


def make_relay(settings: ProxySettings) -> Relay:
    """The application, once in every worker."""
    _log_to_stderr()
    accounts = Accounts(accounts_path(settings.store), since=settings.started_at)
    return Relay(settings, functools.partial(_open_editor, settings), accounts, _observer(settings))


def _observer(settings: ProxySettings) -> SettlementObserver | None:
    """OpenTelemetry is imported only if it is asked for."""
    if not settings.exports_telemetry:
        return None
    from redline.proxy.telemetry import ProxyTelemetry
    from redline.telemetry.exporting import exporting_instruments

    instruments, send_last = exporting_instruments()
    return ProxyTelemetry(instruments, settings.policy, send_last)


def _open_editor(settings: ProxySettings) -> CallEditor:
    """Counts tokens by estimate: the provider reports them anyway, and a vocabulary would take 30 MB in every worker."""
    policy, redaction = find_policy(settings.policy), redact if settings.redacts else None
    _warm_up(policy)
    blobs = StoredResults(open_blobs(settings.blobs, max_seconds=_BLOB_S)) if settings.blobs else None
    editor = Editor(settings.store, policy=policy, redact=redaction, counter=Estimate(), blobs=blobs)
    return WireEditor(editor, edits_subscriptions=settings.edits_subscriptions, is_dry_run=settings.is_dry_run)


def _warm_up(policy: Policy) -> None:
    """Edit a history once in memory, so that all which that needs is loaded: loading takes longer than the deadline of a first
    request, and a session that is resumed would then be sent without its strikes and without its repair."""
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
