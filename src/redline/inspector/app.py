"""The inspector's routes, the files of its page, and the server that runs them."""

import contextlib
import gzip
import logging
import re
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from functools import lru_cache
from importlib.resources import files
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from redline.errors import ExecutionError, RedlineError, ValidationError
from redline.inspector import policy_answers
from redline.inspector import session_answers as answers
from redline.inspector.guard import Guard, InspectorSettings, json_response, problem_response
from redline.inspector.session_answers import SessionQuery
from redline.inspector.session_registry import Events, SessionRegistry
from redline.servers.listening import bind, ended_by_signals
from redline.values import payloads

_logger = logging.getLogger("redline.inspector")

_TYPES = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
_TOKEN = re.compile(r'(<meta name="redline-token" content=")(")')
_MOST_BODY = 1 << 20
_LONGEST_SEARCH = 300

_ANSWERS: dict[str, Callable[[SessionQuery], Any]] = {
    "": answers.header,
    "/messages": answers.messages,
    "/part": answers.part,
    "/image": answers.image,
    "/find": answers.find,
    "/requests/{number}": answers.request,
    "/strikes": answers.strikes,
    "/timeline": answers.timeline,
    "/records": answers.records,
    "/compare": answers.compare,
}
"""The answers about one session, by the end of their address."""
_ACTIONS: dict[str, Callable[[SessionQuery, object], Any]] = {
    "/what-if": lambda asked, body: policy_answers.what_if(asked.session.player(asked.way), body),
    "/actions": answers.act,
}
"""Those that are sent something."""


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


def make_app(settings: InspectorSettings) -> Starlette:
    """The application."""
    sessions = SessionRegistry(settings.places)
    events = Events(sessions)

    @contextlib.asynccontextmanager
    async def life(_: Starlette) -> AsyncIterator[None]:
        events.start()
        yield
        await events.close()

    async def stream(_: Request) -> Response:
        return StreamingResponse(events.stream(), media_type="text/event-stream")

    html = files("redline.inspector").joinpath("page", "index.html").read_text(encoding="utf-8")
    index = _TOKEN.sub(rf"\g<1>{settings.token}\g<2>", html)
    session = "/api/sessions/{id}"

    def about(answer: Callable[..., Any]) -> Callable[..., Any]:
        return lambda asked, *body: answer(SessionQuery(sessions, asked, settings), *body)

    return Starlette(
        routes=[
            Route("/api/sessions", _route(lambda _: sessions.rows())),
            Route("/api/search", _route(lambda asked: sessions.search(asked.query_params.get("text", "")[:_LONGEST_SEARCH]))),
            Route("/api/policies", _route(lambda _: policy_answers.policies())),
            Route("/api/events", stream),
            *(Route(session + end, _route(about(answer))) for end, answer in _ANSWERS.items()),
            *(Route(session + end, _route(about(action), has_body=True), methods=["POST"]) for end, action in _ACTIONS.items()),
            Route("/api/{rest:path}", _route(lambda _: problem_response(404, "There is nothing at this address."))),
            Route("/page/{name}", _page_file),
            Route("/{rest:path}", _route(lambda _: Response(index, media_type="text/html"))),
        ],
        middleware=[Middleware(Guard, settings=settings)],
        exception_handlers={RedlineError: _explain, OSError: _explain},
        lifespan=life,
    )


def _route(work: Callable[..., Any], *, has_body: bool = False) -> Callable[[Request], Any]:
    """A route whose answer takes its time: it is worked out beside the loop. Some are sent something."""

    async def route(request: Request) -> Response:
        body = (await _body_of(request),) if has_body else ()
        try:
            found = await run_in_threadpool(work, request, *body)
            return found if isinstance(found, Response) else await run_in_threadpool(json_response, found)
        except (RedlineError, OSError):
            raise
        except Exception as bug:
            _logger.exception("%s could not be answered", request.url.path)
            return problem_response(500, f"{type(bug).__name__}: {bug}. This is a bug in Redline.")

    return route


async def _body_of(request: Request) -> object:
    body = bytearray()
    async for piece in request.stream():
        body += piece
        if len(body) > _MOST_BODY:
            raise ValidationError("That is too much.")
    try:
        return payloads.decode(bytes(body))
    except ValueError as problem:
        raise ValidationError(f"The body is not JSON: {problem}") from problem


async def _page_file(request: Request) -> Response:
    """One of the page's own files, by its name, compressed for whoever takes that; there are no others."""
    name = request.path_params["name"]
    kind = _TYPES.get(name[name.rfind(".") :])
    content = _page_content(name) if kind is not None else None
    if content is None:
        return problem_response(404, "The page has no such file.")
    if "gzip" not in request.headers.get("accept-encoding", ""):
        return Response(gzip.decompress(content), media_type=kind)
    return Response(content, media_type=kind, headers={"content-encoding": "gzip", "vary": "accept-encoding"})


@lru_cache(maxsize=64)
def _page_content(name: str) -> bytes | None:
    """A file of the page, compressed; None if it has no such file."""
    known = {one.name: one for one in files("redline.inspector").joinpath("page").iterdir()}
    return gzip.compress(known[name].read_bytes(), mtime=0) if name in known else None


async def _explain(_: Request, problem: Exception) -> Response:
    """What went wrong, in its own words."""
    status = 409 if isinstance(problem, ExecutionError) else 400 if isinstance(problem, RedlineError) else 500
    return problem_response(status, str(problem))
