"""The inspector's routes: the page's own files, and what it asks for."""

import contextlib
import gzip
import logging
import re
from collections.abc import AsyncIterator, Callable
from functools import lru_cache
from importlib.resources import files
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from redline.errors import ExecutionError, RedlineError, ValidationError
from redline.inspection.playback import Playback
from redline.inspection.read_session import AUTO, SENT
from redline.inspection.shown import PICTURES, part_named, picture_of, whole_part
from redline.inspector import policy_answers, request_answers, session_answers, timeline_answers
from redline.inspector.actions import act
from redline.inspector.events import Events
from redline.inspector.guard import Guard
from redline.inspector.history_answers import records
from redline.inspector.json_response import json_response, problem_response
from redline.inspector.numbers import NOT_YET
from redline.inspector.opened import OpenedSession, Played
from redline.inspector.served import ServedSessions
from redline.inspector.settings import InspectorSettings
from redline.values import payloads
from redline.values.messages import Media

__all__ = ["Asked", "make_app"]

_logger = logging.getLogger("redline.inspector")

_TYPES = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
_TOKEN = re.compile(r'(<meta name="redline-token" content=")(")')
_MOST_BODY = 1 << 20
_LONGEST_SEARCH = 300

Answer = Callable[["Asked"], Any]
Action = Callable[["Asked", object], Any]


class Asked:
    """A request to the API about one session: the session, and what the query says, checked."""

    def __init__(self, sessions: ServedSessions, request: Request, settings: InspectorSettings) -> None:
        self.query = request.query_params
        self.settings = settings
        self.session: OpenedSession = sessions.open(request.path_params["id"])
        self.conversation = self.number("conversation", 0)
        self.number_in_path = _whole_number("The number of a request", str(request.path_params.get("number", 0)))

    def number(self, name: str, default: int) -> int:
        """A whole number of the query."""
        return _whole_number(name, self.query.get(name, str(default)))

    def playback(self, name: str = "policy") -> Playback:
        """The conversation under the policy that the query names."""
        return self.played(name).playback

    def played(self, name: str = "policy") -> Played:
        """The conversation under a policy, with what was worked out of it."""
        return self.session.played(self.conversation, self.query.get(name, self.query.get("policy", AUTO)), self.branch)

    def played_so_far(self) -> Played:
        """The conversation with strikes and numbers if they are there in a moment; else without."""
        return self.session.played_so_far(self.conversation, self.query.get("policy", AUTO), self.branch)

    @property
    def branch(self) -> int | None:
        """The branch of a log that is looked at; None for the present one."""
        return self.number("branch", 0) if "branch" in self.query else None

    @property
    def can_act(self) -> bool:
        """Whether the session can be changed from here."""
        return self.session.is_log and not self.settings.is_read_only


def _whole_number(what: str, text: str) -> int:
    if not text.isdecimal() or len(text) > 12:
        raise ValidationError(f"{what} must be a whole number, not {text[:40]!r}")
    return int(text)


def make_app(settings: InspectorSettings) -> Starlette:
    """The application."""
    sessions = ServedSessions(settings.places)
    events = Events(sessions)

    @contextlib.asynccontextmanager
    async def life(_: Starlette) -> AsyncIterator[None]:
        events.start()
        yield
        await events.close()

    async def all_sessions(_: Request) -> Response:
        return json_response(await run_in_threadpool(sessions.rows))

    async def search(request: Request) -> Response:
        text = request.query_params.get("text", "")[:_LONGEST_SEARCH]
        return json_response(await run_in_threadpool(sessions.search, text))

    async def all_policies(_: Request) -> Response:
        return json_response(await run_in_threadpool(policy_answers.policies))

    async def stream(_: Request) -> Response:
        return StreamingResponse(events.stream(), media_type="text/event-stream")

    def about(answer: Answer) -> Callable[[Request], Any]:
        """A route about one session; reading it takes its time, so it is done beside the loop."""

        async def route(request: Request) -> Response:
            return await run_in_threadpool(lambda: _answered(request, answer, Asked(sessions, request, settings)))

        return route

    def with_body(action: Action) -> Callable[[Request], Any]:
        """A route that is sent something."""

        async def route(request: Request) -> Response:
            body = await _body_of(request)
            answered: Response = await about(lambda asked: action(asked, body))(request)
            return answered

        return route

    session = "/api/sessions/{id}"
    return Starlette(
        routes=[
            Route("/api/sessions", all_sessions),
            Route("/api/search", search),
            Route("/api/policies", all_policies),
            Route("/api/events", stream),
            Route(session, about(_header)),
            Route(f"{session}/messages", about(_messages)),
            Route(f"{session}/part", about(_part)),
            Route(f"{session}/image", about(_image)),
            Route(f"{session}/find", about(_find)),
            Route(f"{session}/requests/{{number}}", about(_request)),
            Route(f"{session}/strikes", about(_strikes)),
            Route(f"{session}/timeline", about(_timeline)),
            Route(f"{session}/records", about(_records)),
            Route(f"{session}/compare", about(_compare)),
            Route(f"{session}/what-if", with_body(_what_if), methods=["POST"]),
            Route(f"{session}/actions", with_body(_act), methods=["POST"]),
            Route("/api/{rest:path}", _unknown),
            Route("/page/{name}", _page_file),
            Route("/{rest:path}", _index(settings.token)),
        ],
        middleware=[Middleware(Guard, settings=settings)],
        exception_handlers={RedlineError: _explain, OSError: _explain},
        lifespan=life,
    )


def _answered(request: Request, answer: Answer, asked: Asked) -> Response:
    """An answer, or what went wrong: of a bug in a sentence, and where it is in the log."""
    try:
        found = answer(asked)
    except (RedlineError, OSError):
        raise
    except Exception as bug:
        _logger.exception("%s could not be answered", request.url.path)
        return problem_response(500, f"{type(bug).__name__}: {bug}. This is a bug in Redline.")
    return found if isinstance(found, Response) else json_response(found)


# --- one session


def _header(asked: Asked) -> dict[str, Any]:
    """Quick, however large the session: what takes longer is told when it is known."""
    played = asked.played_so_far()
    found = session_answers.header(asked.session, played.playback, asked.conversation)
    policy = asked.session.resolved(asked.query.get("policy", AUTO))
    is_pending = played.numbers is None
    told = {"policy": policy, "is_hypothetical": policy != SENT, "can_act": asked.can_act, "is_pending": is_pending}
    return {**found, **told, **(played.numbers or NOT_YET)}


def _messages(asked: Asked) -> dict[str, Any]:
    if "indices" in asked.query:
        indices = session_answers.parse_indices(asked.query["indices"])
    else:
        start = asked.number("from", 0)
        indices = list(range(start, start + min(asked.number("count", 50), session_answers.MOST_MESSAGES)))
    return session_answers.messages(asked.session, asked.played_so_far().playback, indices, asked.conversation)


def _part(asked: Asked) -> dict[str, Any]:
    index, part = _named_part(asked)
    return whole_part(asked.playback(), index, part)


def _image(asked: Asked) -> Response:
    """Only what a browser draws and nothing in it can run; as an attachment of its own it is bound even further."""
    _, part = _named_part(asked)
    picture = picture_of(part)
    if picture is None or not isinstance(part, Media) or part.media_type not in PICTURES:
        return problem_response(404, "There is no picture there that a browser can draw.")
    return Response(picture, media_type=part.media_type, headers={"content-security-policy": "default-src 'none'; sandbox"})


def _named_part(asked: Asked) -> tuple[int, Any]:
    history, index = asked.playback().history, asked.number("index", 0)
    if index >= history.count:
        raise ValidationError(f"There is no message {index}; there are {history.count}, numbered from 0.")
    part = part_named(history.load(index), asked.query.get("at", ""))
    if part is None:
        raise ValidationError(f"Message {index} has no part at {asked.query.get('at', '')[:80]!r}.")
    return index, part


def _find(asked: Asked) -> dict[str, Any]:
    search = asked.session.search(asked.conversation, asked.branch)
    return session_answers.find_messages(asked.playback(), search, dict(asked.query))


def _request(asked: Asked) -> dict[str, Any]:
    return request_answers.request(asked.session, asked.playback(), asked.number_in_path)


def _strikes(asked: Asked) -> Response:
    played = asked.played()
    if played.strikes is None:
        played.strikes = payloads.encode(request_answers.strikes(played.playback, can_act=asked.can_act))
    return Response(played.strikes, media_type="application/json")


def _timeline(asked: Asked) -> dict[str, Any]:
    return timeline_answers.timeline(asked.playback(), asked.number("points", 1000))


def _records(asked: Asked) -> dict[str, Any]:
    return records(asked.session, asked.conversation)


def _compare(asked: Asked) -> dict[str, Any]:
    left, right = asked.playback("policy_a"), asked.playback("policy_b")
    last = max(len(left.history.requests) - 1, 0)
    return request_answers.compare(left, asked.number("a", max(last - 1, 0)), right, asked.number("b", last), asked.session)


def _what_if(asked: Asked, body: object) -> dict[str, Any]:
    return policy_answers.what_if(asked.session.player(asked.conversation, asked.branch), body)


def _act(asked: Asked, body: object) -> dict[str, Any]:
    if asked.settings.is_read_only:
        raise ExecutionError("This inspector was started to read only.")
    return act(asked.session, body)


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


# --- the page


def _index(token: str) -> Callable[[Request], Any]:
    async def index(_: Request) -> Response:
        html = files("redline.inspector").joinpath("page", "index.html").read_text(encoding="utf-8")
        return Response(_TOKEN.sub(rf"\g<1>{token}\g<2>", html), media_type="text/html")

    return index


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


async def _unknown(_: Request) -> Response:
    return problem_response(404, "There is nothing at this address.")


async def _explain(_: Request, problem: Exception) -> Response:
    """What went wrong, in its own words."""
    status = 409 if isinstance(problem, ExecutionError) else 400 if isinstance(problem, RedlineError) else 500
    return problem_response(status, str(problem))
