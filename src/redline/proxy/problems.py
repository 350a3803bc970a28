"""What the proxy itself answers when something is wrong: why, in an error of the shape that the provider's SDK knows."""

import errno
import os

import aiohttp
import msgspec

__all__ = ["problem_body", "why_unreachable"]

_LONGEST = 200


def problem_body(provider: str, status: int, message: str) -> bytes:
    """The body of such an answer."""
    said = f"redline proxy: {message}"
    shape: dict[str, object]
    match provider:
        case "anthropic":
            shape = {"type": "error", "error": {"type": _KINDS.get(status, "api_error"), "message": said}}
        case "gemini":
            shape = {"error": {"code": status, "message": said, "status": _STATES.get(status, "UNAVAILABLE")}}
        case _:
            shape = {"error": {"message": said, "type": _KINDS.get(status, "api_error"), "param": None, "code": None}}
    return msgspec.json.encode(shape)


_KINDS = {400: "invalid_request_error", 401: "authentication_error", 403: "permission_error", 426: "invalid_request_error"}
_STATES = {400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 504: "DEADLINE_EXCEEDED"}


def why_unreachable(problem: Exception) -> str:
    """Why a provider gave no answer, in plain words. No address but its host is in it: a query may hold a key."""
    match problem:
        case aiohttp.ClientConnectorError():
            return _why_unconnected(problem)[:_LONGEST]
        case aiohttp.ClientHttpProxyError():
            return f"the HTTP proxy on the way answered {problem.status}"
        case aiohttp.ServerDisconnectedError():
            return "it closed the connection before it answered. What it did is unknown, so the request is not sent again"
        case aiohttp.ClientResponseError():  # as text it names the address with its query
            return f"its answer is no HTTP: {problem.message}"[:_LONGEST]
        case TimeoutError():
            return "it did not take the connection in time"
        case OSError():
            return f"the connection broke before it answered: {_said(problem)}. The request is not sent again"
    return type(problem).__name__


def _why_unconnected(problem: aiohttp.ClientConnectorError) -> str:
    match problem:
        case aiohttp.ClientConnectorDNSError():
            return f"the name {problem.host} cannot be resolved (DNS)"
        case aiohttp.ClientSSLError():
            held = getattr(problem, "certificate_error", problem.os_error)
            reason = getattr(held, "verify_message", "") or getattr(held, "reason", "") or type(held).__name__
            return f"TLS with {problem.host}:{problem.port} failed: {reason}"
        case aiohttp.ClientProxyConnectionError():
            return f"the HTTP proxy on the way does not take the connection: {_said(problem.os_error)}"
    if problem.os_error.errno == errno.ECONNREFUSED:
        return f"nothing listens at {problem.host}:{problem.port} (connection refused)"
    return f"no connection to {problem.host}:{problem.port}: {_said(problem.os_error)}"


def _said(problem: OSError) -> str:
    """By the system's number for it: the text of aiohttp's errors may name the address with its query."""
    return os.strerror(problem.errno) if problem.errno else type(problem).__name__
