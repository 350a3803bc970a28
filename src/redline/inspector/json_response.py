"""Answers as JSON, also with text that is not valid Unicode."""

from starlette.responses import Response

from redline.values import payloads

__all__ = ["json_response", "problem_response"]


def json_response(value: object, status: int = 200) -> Response:
    """A value as JSON."""
    return Response(payloads.encode(value), status, media_type="application/json")


def problem_response(status: int, problem: str) -> Response:
    """What is wrong, in a sentence that can be shown."""
    return json_response({"error": problem}, status)
