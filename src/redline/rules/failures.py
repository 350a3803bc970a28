"""Whether a result reports a failure: by its flag, by its first word, or by how the command ended."""

import re
from typing import Any

import msgspec

from redline.values import payloads
from redline.values.messages import ToolResult

__all__ = ["command_failed", "is_command_output", "is_failure"]

_OUTPUT_KEYS = ('"stdout":', '"stderr":', '"exitCode":')
_LOOK_CHARS = 400
"""Agents say how a command ended before its output or after it; what is between is the output."""
_ENDED_WITH = re.compile(
    r"""^(?: <returncode>
           | \[? (?:The\ )? (?:Process\ |Command\ )? (?:finished\ with\ |completed\ with\ )?
             exit(?:ed\ with)?\ code:?\ ? )
        (?P<code>-?\d+)""",
    re.VERBOSE | re.MULTILINE | re.IGNORECASE,
)


def is_failure(result: ToolResult, *, is_terminal: bool) -> bool:
    """Whether a result reports a failure."""
    if result.is_error:
        return True
    text = result.text
    return text.lstrip().startswith("Error:") or (is_terminal and command_failed(text))


def command_failed(text: str) -> bool:
    """Whether the output of a command says that it failed: in JSON by `stderr` or its exit code, else by a line."""
    if not text.lstrip().startswith("{"):
        line = _exit_line(text[:_LOOK_CHARS]) or _exit_line(text[-_LOOK_CHARS:])
        return line is not None and int(line["code"]) != 0
    outcome = _read_outcome(text)
    inner = outcome.metadata.get("exit_code") if isinstance(outcome.metadata, dict) else None
    codes = (outcome.exitCode, outcome.exit_code, inner)
    return bool(outcome.stderr) or any(code not in (None, 0, "0", "") for code in codes)


def is_command_output(text: str) -> bool:
    """Whether words look like what a command printed, for want of a call that says it."""
    return any(key in text for key in _OUTPUT_KEYS)


def _exit_line(text: str) -> re.Match[str] | None:
    """The line that says how a command ended. All of them speak of a code, and few texts do, which is quickly seen."""
    return _ENDED_WITH.search(text) if "code" in text.lower() else None


class _CommandOutcome(msgspec.Struct):
    stderr: Any = None
    exitCode: Any = None  # noqa: N815 - the document's spelling; decoding by struct skips the output, which is long
    exit_code: Any = None
    metadata: Any = None


_decode_outcome = msgspec.json.Decoder(_CommandOutcome).decode


def _read_outcome(text: str) -> _CommandOutcome:
    """How a command ended that reports in JSON; what cannot be parsed reports nothing."""
    try:
        return _decode_outcome(text)
    except (msgspec.DecodeError, UnicodeError):
        pass
    except RecursionError:
        return _CommandOutcome()
    try:
        return msgspec.convert(payloads.decode_text(text), _CommandOutcome)
    except (ValueError, RecursionError):
        return _CommandOutcome()
