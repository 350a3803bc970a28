"""Every exception Redline raises, in one small tree.

RedlineError                    the base: catch this to catch them all
├── ValidationError             the input is wrong; nothing was done
│   └── FormatError             a message has a shape its format does not know
├── ExecutionError              the input is fine but not possible in this state
│   └── BlobStoreError          blobs cannot be stored or read now: the store is down, slow, full or closed to this user
├── LogError                    a log cannot be opened, read or written
│   └── StaleLogError           it was deleted, replaced or changed by another program while it was open
├── MissingExtraError           an optional dependency is needed for this call
└── TranscriptError             a session file cannot be read
"""

from typing import Self

__all__ = [
    "BlobStoreError",
    "ExecutionError",
    "FormatError",
    "LogError",
    "MissingExtraError",
    "RedlineError",
    "StaleLogError",
    "TranscriptError",
    "ValidationError",
]


class RedlineError(Exception):
    """The base of every error Redline raises."""


class ValidationError(RedlineError):
    """The input is wrong: what, where, and what to do is in the text. Nothing was changed."""


class FormatError(ValidationError):
    """A message does not have the shape of its format, or no format fits it."""


class ExecutionError(RedlineError):
    """The request is well formed but not possible in the present state. Nothing was changed."""


class BlobStoreError(ExecutionError):
    """A store of blobs cannot be reached, does not answer in time, is full, or refuses. Asked later, it may answer."""


class LogError(RedlineError):
    """A log cannot be opened, read or written: the text names it and says what to do. Nothing is half-written."""


class StaleLogError(LogError):
    """A log is no longer what was opened: it was deleted, replaced or cut by another program. Open it again."""


class MissingExtraError(RedlineError):
    """A feature needs an optional dependency; the text names the extra to install."""

    def __init__(self, feature: str, extra: str) -> None:
        super().__init__(f"{feature} needs the extra {extra!r}: pip install 'redline-context[{extra}]'")
        self._said = feature, extra

    def __reduce__(self) -> tuple[type[Self], tuple[str, str]]:
        """Pickled with its message, so that a worker process can raise it to its parent."""
        return type(self), self._said


class TranscriptError(RedlineError):
    """A session file cannot be read: the text names the file, the place in it, and what to do."""
