"""The inspector's settings, and who may ask it: host, origin and token are checked on every request."""

import hmac
import secrets
from dataclasses import dataclass, field
from urllib.parse import parse_qs, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from redline.errors import ValidationError
from redline.servers.listening import TOKEN_HEADER, Access, is_loopback
from redline.values import payloads


@dataclass(frozen=True, slots=True, kw_only=True)
class InspectorSettings:
    """Host and port, the sessions to serve, and the people who may look."""

    places: tuple[str, ...] = ()
    """Files, folders and addresses; none for the sessions on this computer."""
    host: str = "127.0.0.1"
    port: int = 8585
    allows_others: bool = False
    """Whether other machines may reach it."""
    allowed_hosts: tuple[str, ...] = ()
    is_read_only: bool = False
    """Whether no action is taken on logs either."""
    token: str = field(default_factory=lambda: secrets.token_urlsafe(24), repr=False)
    """What every request must show: in the address first, in a cookie then. Other users of this machine do not know it."""

    def __post_init__(self) -> None:
        if not self.is_local and not self.allows_others:
            raise ValidationError(
                f"{self.host} can be reached from other machines, and sessions hold source code, commands and secrets. "
                "Leave --host at 127.0.0.1, or add --allow-others."
            )

    @property
    def is_local(self) -> bool:
        """Whether only this machine reaches it."""
        return is_loopback(self.host)

    @property
    def access(self) -> Access:
        """Who may use it."""
        return Access(self.host, self.token, frozenset(name.lower() for name in self.allowed_hosts))

    @property
    def url(self) -> str:
        """Where the page is, with the token that lets a browser in."""
        shown = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{shown}:{self.port}/?token={self.token}"


def json_response(value: object, status: int = 200) -> Response:
    """A value as JSON."""
    return Response(payloads.encode(value), status, media_type="application/json")


def problem_response(status: int, problem: str) -> Response:
    """What is wrong, in a sentence that can be shown."""
    return json_response({"error": problem}, status)


CONTENT_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"
)
_HEADERS = {
    "content-security-policy": CONTENT_POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
_OWN_SITES = ("", "same-origin", "none")
"""What `Sec-Fetch-Site` says of a request from the page itself, of an address that was typed in, and of other programs."""


class Guard:
    """Looks at every request before the application does, and adds to every answer what binds the browser."""

    def __init__(self, app: ASGIApp, settings: InspectorSettings) -> None:
        self._app, self._settings, self._access = app, settings, settings.access
        # Browsers send a cookie to every port of a host: by its name, two inspectors do not overwrite each other's.
        self._cookie = f"redline_token_{settings.port}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        asked = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0]
        # Other servers of this host set cookies, too, and not all of theirs are as they should be: only ours is looked for.
        pairs = (one.strip().partition("=") for one in headers.get("cookie", "").split(";"))
        kept = (value for name, _, value in pairs if name == self._cookie)
        is_let_in = self._access.takes_token(headers.get(TOKEN_HEADER, ""), asked, *kept)

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                answer = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    answer.setdefault(name, value)
                if is_let_in and not problem:
                    answer.append("set-cookie", f"{self._cookie}={self._settings.token}; HttpOnly; SameSite=Strict; Path=/")
            await send(message)

        status, problem = self._problem(scope, headers)
        if not problem and not is_let_in:
            status, problem = 401, "This inspector asks for its token: open the address that `redline serve` printed."
        if problem:
            await problem_response(status, problem)(scope, receive, send_guarded)
        else:
            await self._app(scope, receive, send_guarded)

    def _problem(self, scope: Scope, headers: Headers) -> tuple[int, str]:
        """Why a request is refused, whoever sent it."""
        if problem := self._access.host_problem(dict(headers)):
            return 403, problem
        origin = headers.get("origin")
        try:
            is_own = origin is None or urlsplit(origin).netloc == headers.get("host")
        except ValueError:
            is_own = False
        if not is_own:
            return 403, "Only the inspector's own page may ask; this came from another."
        is_navigation = headers.get("sec-fetch-mode") == "navigate" and not scope["path"].startswith("/api/")
        if headers.get("sec-fetch-site", "") not in _OWN_SITES and not is_navigation:
            return 403, "Only the inspector's own page may ask; this came from another site."
        if scope["method"] in ("GET", "HEAD"):
            return 0, ""
        if not hmac.compare_digest(headers.get(TOKEN_HEADER, "").encode(), self._settings.token.encode()):
            return 403, "What changes something needs the token of the page. Load the page again."
        if headers.get("content-type", "").partition(";")[0] != "application/json":
            return 415, "Send JSON."
        return 0, ""
