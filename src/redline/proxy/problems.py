"""What the proxy itself answers when something is wrong: an error in the shape that the provider's SDK knows."""

import msgspec

__all__ = ["problem_body"]


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
