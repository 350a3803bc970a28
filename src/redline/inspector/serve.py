"""Runs the inspector: binds its socket, says where it listens, and serves until it is told to stop."""

from collections.abc import Callable
from dataclasses import replace

import uvicorn

from redline.inspector.app import make_app
from redline.inspector.settings import InspectorSettings
from redline.listening import bind, ended_by_signals

__all__ = ["serve"]


def serve(settings: InspectorSettings, *, on_ready: Callable[[InspectorSettings], None]) -> None:
    """Serve until SIGINT or SIGTERM. `on_ready` is told the settings, with the port, once the socket is bound."""
    listening = bind(settings.host, settings.port)
    running = replace(settings, port=listening.getsockname()[1])
    config = uvicorn.Config(
        make_app(running),
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=1,
    )
    on_ready(running)
    with ended_by_signals(), listening:
        uvicorn.Server(config).run(sockets=[listening])
