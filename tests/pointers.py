"""Follow every pointer in a request's body, ours and the agents', and see whether it arrives at words; for any of the APIs.

A pointer is a result without words of its own: what an agent says in place of a file that has not changed, or what Redline left
of a result. It may send the model to another result of the same body, or name a way to have the words again.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any, Literal

from redline.providers import find_format
from redline.values.messages import ToolCall, ToolResult
from redline.values.words import is_placeholder

__all__ = ["SentResult", "follow", "holds_file", "lost_pointers", "sent_results", "ways_to_have"]

_EARLIER = re.compile(
    r"Wasted call|File unchanged since last read|This file is already in your context"
    r"|unchanged since (?:your|the) (?:last|earlier)|refer to (?:that|the) earlier"
    r"|already in (?:your |the )?context|Image not read again",
    re.IGNORECASE,
)
"""How agents send the model to an earlier result."""
_LATEST = re.compile(r"see the latest|see its latest|Refer to the latest file read|请参看最新", re.IGNORECASE)
"""How agents and Redline send the model to the latest result."""
_AGAIN = re.compile(r"\bagain\b|reference=|offloaded to|saved to|all of it: |可再次|全文: ", re.IGNORECASE)
"""How a placeholder names a way to have the words: run, read or search again, recall, a file on the disk."""
_GONE = re.compile(r"^\W*(?:Old tool result content cleared|Orphaned tool result removed)", re.IGNORECASE)
_MOST_POINTER_CHARS = 600
"""A longer result has words of its own."""
_PATH_KEYS = ("file_path", "filePath", "path", "absolute_path", "notebook_path", "target_file")
_SHOWN_FILE = re.compile(r"\b(?:cat|nl|bat|less|more)\s+(?:-n\s+)?([\w./-]+)")

Kind = Literal["words", "earlier", "latest", "again", "gone"]


@dataclass(frozen=True, slots=True)
class SentResult:
    """A result as the model sees it."""

    position: int
    """Among the results of the body."""
    tool: str
    arguments: Any
    text: str
    files: frozenset[str]
    """The names, without folders, of the files that its call shows."""

    @property
    def kind(self) -> Kind:
        """Words, or where it sends the model."""
        is_ours = is_placeholder(self.text)
        if len(self.text) > _MOST_POINTER_CHARS and not is_ours:
            return "latest" if "[outdated - see the latest file content]" in self.text else "words"
        if _LATEST.search(self.text):
            return "latest"
        if _EARLIER.search(self.text):
            return "earlier"
        if is_ours:
            return "again" if _AGAIN.search(self.text) else "gone"
        return "gone" if _GONE.match(self.text) else "words"


def sent_results(body: Mapping[str, Any], format: str) -> list[SentResult]:
    """The results of a body in order, each with its call."""
    calls: dict[str, ToolCall] = {}
    found: list[SentResult] = []
    for message in find_format(format).read_request(dict(body)):
        for part in message.parts:
            if isinstance(part, ToolCall):
                calls[part.id] = part
            elif isinstance(part, ToolResult):
                call = calls.get(part.call_id)
                arguments = call.arguments if call else {}
                name = call.name if call else ""
                found.append(SentResult(len(found), name, arguments, part.text, frozenset(_files_in(arguments))))
    return found


def follow(results: list[SentResult], start: SentResult) -> SentResult | None:
    """The result at which a pointer arrives: with words, or with a way to have them. None if it arrives nowhere."""
    seen: set[int] = set()
    at: SentResult | None = start
    while at is not None and at.position not in seen:
        seen.add(at.position)
        match at.kind:
            case "words":
                return at
            case "again":
                return at if at is start or start.kind != "earlier" else None
            case "gone":
                return None
            case "earlier":
                at = _same(results[: at.position], at, passing=("earlier",))
            case "latest":
                at = _same(results[at.position + 1 :], at, passing=())
    return None


def lost_pointers(body: Mapping[str, Any], format: str) -> list[str]:
    """What each pointer says that arrives nowhere, with its file or call; empty where all arrive."""
    results = sent_results(body, format)
    return [
        f"result {one.position} of {one.tool} {sorted(one.files) or one.arguments}: {one.text[:160]!r}"
        for one in results
        if one.kind in ("earlier", "latest") and follow(results, one) is None
    ]


def holds_file(body: Mapping[str, Any], words: str) -> bool:
    """Whether every line of a file is in the body, with or without numbers of lines, in whatever escaping."""
    said = json.dumps(body, ensure_ascii=False)
    return all(
        json.dumps(line, ensure_ascii=False)[1:-1].replace("\\", "") in said.replace("\\", "") for line in words.splitlines()
    )


def ways_to_have(body: Mapping[str, Any], format: str, name: str) -> list[SentResult]:
    """The results of a file at which the model arrives, with words or with a way to have them; empty if the file is lost."""
    results = sent_results(body, format)
    arrived = (follow(results, one) for one in results if name in one.files)
    return [one for one in arrived if one is not None]


def _same(among: list[SentResult], of: SentResult, passing: tuple[Kind, ...]) -> SentResult | None:
    """The latest result of the same file, else of the same call, other than those of the kinds to pass by."""
    for is_same in (lambda one: bool(one.files & of.files), lambda one: (one.tool, one.arguments) == (of.tool, of.arguments)):
        for one in reversed(among):
            if is_same(one) and one.kind not in passing:
                return one
    return None


def _files_in(value: Any) -> Iterator[str]:
    """The names of files in the arguments of a call: paths under the usual keys, and what a shell command prints."""
    match value:
        case dict():
            for key, held in value.items():
                if key in _PATH_KEYS and isinstance(held, str):
                    yield PurePosixPath(held).name
                else:
                    yield from _files_in(held)
        case list():
            for held in value:
                yield from _files_in(held)
        case str():
            yield from (PurePosixPath(found).name for found in _SHOWN_FILE.findall(value))
