"""Large tool results moved to files of a directory: `offload_tool_results`, and `read_offloaded` for the way back."""

import hashlib
import logging
import re
from collections.abc import Iterator, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import msgspec

from redline import payloads
from redline.blobs.files import write_whole
from redline.errors import ExecutionError, ValidationError
from redline.formats.anthropic import Anthropic
from redline.messages import Message, Part, Text, ToolCall, ToolResult
from redline.payloads import Payload
from redline.placeholders import REFERENCE, check_template

__all__ = ["OffloadResult", "offload_tool_results", "read_offloaded"]

_log = logging.getLogger("redline.offload")
_FORMAT = Anthropic()


class OffloadResult(msgspec.Struct, frozen=True):
    """What `offload_tool_results` did."""

    messages: list[Any]
    """The messages to send; one that did not change is the very same object."""
    offloaded_count: int
    freed_chars: int
    """The characters of the results that moved, as they were."""
    files: list[str]
    """The absolute paths of the files, in the order of the results."""


def offload_tool_results(
    messages: Sequence[Payload],
    output_dir: str | PathLike[str],
    *,
    min_chars: int = 100,
    min_ratio: float = 0.0,
    reference: str = REFERENCE,
) -> OffloadResult:
    """Move results of at least `min_chars` characters of Anthropic-style messages to files, and leave references.

    Nothing moves unless what can move is `min_ratio` of all characters (texts, tool inputs, results). `reference` is
    the template of what is left; `{name}` is the file's name.
    """
    _check(min_chars, min_ratio, reference)
    read = [_FORMAT.read(payload) for payload in messages]
    movable = [list(_movable(message, min_chars, reference)) for message in read]
    freed = sum(len(text) for results in movable for _, text in results)
    if not freed or freed / _all_chars(read) < min_ratio:
        return OffloadResult(list(messages), 0, 0, [])
    folder = _Folder(Path(output_dir))
    after = [_moved(message, results, folder, reference) for message, results in zip(read, movable, strict=True)]
    _log.info("offloaded %d tool results, %d characters, to %s", len(folder.files), freed, folder.path)
    return OffloadResult([_FORMAT.write(message) for message in after], len(folder.files), freed, folder.files)


def read_offloaded(reference: str, output_dir: str | PathLike[str]) -> str:
    """The text that was stored, from a reference as it stands in a message; only files of the directory are read."""
    found = _FILE_NAME.search(reference)
    name = found[0] if found else ""
    if not _is_safe_name(name):
        raise ValidationError(
            f"{reference[:120]!r} names no file of an offloaded result; pass the reference as it stands in the message"
        )
    file = Path(output_dir) / name
    if file.is_symlink():
        raise ValidationError(f"{file} is a link; offloaded results are files of the directory itself")
    try:
        return file.read_bytes().decode("utf-8", "surrogatepass")
    except FileNotFoundError:
        raise ExecutionError(
            f"{file} does not exist. Pass the directory that the result was offloaded to, or run the tool again."
        ) from None
    except OSError as problem:
        raise ExecutionError(f"{file} cannot be read: {problem.strerror}. Check its permissions.") from problem


def _check(min_chars: int, min_ratio: float, reference: str) -> None:
    if min_chars < 0 or not 0 <= min_ratio <= 1:
        raise ValidationError(
            f"min_chars must not be negative, and min_ratio lies between 0 and 1; got {min_chars} and {min_ratio}"
        )
    check_template(reference, "offload_tool_results", "name")
    if _FILE_NAME.search(reference.format(name=f"{_PREFIX}x.md")) is None:
        raise ValidationError(f"The reference {reference!r} must hold {{name}}, or the result could not be found again")


# --- what moves


def _movable(message: Message, min_chars: int, reference: str) -> Iterator[tuple[ToolResult, str]]:
    """The results that are long enough, with the text to store."""
    for part in message.parts:
        if isinstance(part, ToolResult) and not part.is_hosted:
            text = _content(message, part)
            if text and len(text) >= min_chars and not _is_reference(text, reference):
                yield part, text


def _content(message: Message, result: ToolResult) -> str:
    """A content that is a string, or the compact JSON of one that is a list; nothing for any other."""
    if not result.parts:
        return ""
    *outer, last = result.parts[0].at
    if isinstance(last, int):
        return _json(payloads.value_at(payloads.decode(message.native), tuple(outer)))
    return result.text


def _is_reference(text: str, template: str) -> bool:
    """Whether a text is what the template makes of some file's name, or what the documents' template makes of it."""
    found = _FILE_NAME.search(text)
    return found is not None and text in (template.format(name=found[0]), REFERENCE.format(name=found[0]))


def _all_chars(messages: Sequence[Message]) -> int:
    return sum(_chars(message, part) for message in messages for part in message.parts)


def _chars(message: Message, part: Part) -> int:
    match part:
        case Text(text):
            return len(text)
        case ToolCall(input=value):
            return len(_json(value))
        case ToolResult():
            return len(_content(message, part))
        case _:
            return 0


def _json(value: Any) -> str:
    return payloads.encode(value).decode()


# --- where it goes


def _moved(message: Message, results: Sequence[tuple[ToolResult, str]], folder: "_Folder", reference: str) -> Message:
    for result, text in results:
        message = _FORMAT.rewrite(message, result, reference.format(name=folder.store(result.call_id, text)))
    return message


class _Folder:
    """The directory, and which of its names this call has given away: no two results share a file."""

    def __init__(self, path: Path) -> None:
        self.path = path.absolute()
        self.files: list[str] = []
        self._taken: set[str] = set()
        self._taken_files: set[tuple[int, int]] = set()
        """By device and inode: on some systems two names that differ in case are one file."""
        self._first_free: dict[str, int] = {}

    def store(self, call_id: str | None, text: str) -> str:
        """Write the text under the next name that is free, or find it there, and return the name."""
        content = text.encode("utf-8", "surrogatepass")
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            name = next(name for name in self._names(_stem(call_id)) if self._is_free(name, content))
            file = self.path / name
            if not file.exists():
                write_whole(file, content)
            status = file.stat()
        except OSError as problem:
            raise ExecutionError(
                f"A tool result cannot be stored in {self.path}: {problem.strerror}. "
                "Check the path, its permissions and the space left."
            ) from problem
        self._taken.add(name)
        self._taken_files.add((status.st_dev, status.st_ino))
        self.files.append(str(file))
        return name

    def _names(self, stem: str) -> Iterator[str]:
        """`stem.md`, `stem-1.md`, `stem-2.md` …, from the first that this call has not given away."""
        number = self._first_free.get(stem, 0)
        while _numbered(stem, number) in self._taken:
            number += 1
        self._first_free[stem] = number
        while True:
            yield _numbered(stem, number)
            number += 1

    def _is_free(self, name: str, content: bytes) -> bool:
        """Whether there is no such file, or one from an earlier call with the same content."""
        file = self.path / name
        if name in self._taken or file.is_symlink():
            return False
        if not file.exists():
            return True
        status = file.stat()
        is_given_away = (status.st_dev, status.st_ino) in self._taken_files
        return file.is_file() and not is_given_away and status.st_size == len(content) and file.read_bytes() == content


_PREFIX = "tool-result-"
_MAX_ID_BYTES = 180
"""File systems take names of 255 bytes; the rest is for prefix, number and ending."""
# Besides separators also what Windows gives a meaning (`a:b` is a second stream of the file `a`).
_UNSAFE = re.compile(r"[\x00-\x1f\x7f-\x9f/\\<>:\"|?*\u2028\u2029\ud800-\udfff]|\.\.")
_FILE_NAME = re.compile(rf"{_PREFIX}[^/\\\x00-\x1f]*\.md")


def _numbered(stem: str, number: int) -> str:
    return f"{_PREFIX}{stem}-{number}.md" if number else f"{_PREFIX}{stem}.md"


def _stem(call_id: str | None) -> str:
    """The id where it can be part of a file's name; else what is plain in it, and a hash that tells it from others."""
    if call_id and _is_safe(call_id):
        return call_id
    plain = re.sub(r"[^A-Za-z0-9_-]+", "_", call_id or "none")[:40]
    digest = hashlib.sha256((call_id or "").encode("utf-8", "surrogatepass")).hexdigest()
    return f"{plain}-{digest[:12]}"


def _is_safe(call_id: str) -> bool:
    if _UNSAFE.search(call_id) or call_id.startswith(".") or call_id != call_id.strip():
        return False
    return len(call_id.encode()) <= _MAX_ID_BYTES


def _is_safe_name(name: str) -> bool:
    return bool(name) and _UNSAFE.search(name) is None
