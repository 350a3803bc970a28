"""Who may ask, and what a browser may do with the answer: host, origin, token, and a policy under which nothing else loads."""

import hmac
from urllib.parse import parse_qs, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from redline.inspector.json_response import problem_response
from redline.inspector.settings import InspectorSettings
from redline.listening import TOKEN_HEADER

__all__ = ["CONTENT_POLICY", "Guard"]

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
        is_let_in = self._access.takes_token(*self._tokens(scope, headers))

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
        if origin is not None and _site_of(origin) != headers.get("host"):
            return 403, "Only the inspector's own page may ask; this came from another."
        is_navigation = headers.get("sec-fetch-mode") == "navigate" and not scope["path"].startswith("/api/")
        if headers.get("sec-fetch-site", "") not in _OWN_SITES and not is_navigation:
            return 403, "Only the inspector's own page may ask; this came from another site."
        if scope["method"] not in ("GET", "HEAD"):
            return self._problem_of_action(headers)
        return 0, ""

    def _problem_of_action(self, headers: Headers) -> tuple[int, str]:
        if not hmac.compare_digest(headers.get(TOKEN_HEADER, "").encode(), self._settings.token.encode()):
            return 403, "What changes something needs the token of the page. Load the page again."
        if headers.get("content-type", "").partition(";")[0] != "application/json":
            return 415, "Send JSON."
        return 0, ""

    def _tokens(self, scope: Scope, headers: Headers) -> tuple[str, ...]:
        asked = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0]
        # Other servers of this host set cookies, too, and not all of theirs are as they should be: only ours is looked for.
        pairs = (one.strip().partition("=") for one in headers.get("cookie", "").split(";"))
        kept = (value for name, _, value in pairs if name == self._cookie)
        return headers.get(TOKEN_HEADER, ""), asked, *kept


def _site_of(origin: str) -> str:
    """Host and port of an origin; empty for what is none, which no page of this server's can have."""
    try:
        return urlsplit(origin).netloc
    except ValueError:
        return ""
