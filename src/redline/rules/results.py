"""What rules ask of a result: its kind, words and length, its call, the files it shows or changes, whether it was replaced."""

import hashlib

from redline.record.blobs.whole_results import names_whole_results
from redline.rules.facts import Seen
from redline.tools import Reads, Runs, Writes, is_unicode, normalize_path
from redline.tools.kinds import KINDS as KINDS
from redline.tools.kinds import ResultKind as ResultKind
from redline.tools.kinds import kind_of_actions as kind_of_actions
from redline.values import payloads
from redline.values.messages import Media, Opaque, Text, ToolCall, ToolResult
from redline.values.words import Placeholders, is_placeholder


def is_replaced(result: ToolResult, words: Placeholders, placeholder: str | None = None) -> bool:
    """Whether a placeholder is there already: this one, one of these words, or any that come with Redline."""
    if len(result.parts) != 1 or not isinstance(result.parts[0], Text):
        return False
    text = result.parts[0].text
    return text == placeholder or is_placeholder(text, words)


def size_chars(result: ToolResult) -> int:
    """How many characters a result takes, media and unknown blocks included."""
    size = 0
    for part in result.parts:
        match part:
            case Text(text):
                size += len(text)
            case Media(source=source):
                size += len(source)
            case Opaque(native=native):
                size += len(payloads.try_encode(native) or b"")
    return size


def plain_words(result: ToolResult) -> str | None:
    """The words of a result whose content is one string; None for a list of blocks."""
    texts = [part for part in result.parts if isinstance(part, Text)]
    if len(texts) != 1 or (texts[0].at and isinstance(texts[0].at[-1], int)):
        return None
    return texts[0].text


def long_texts(result: ToolResult, min_chars: int) -> list[ToolResult | Text]:
    """What of a result is long: all of it if it is only words, else each long text in it, so that media stay."""
    if all(isinstance(part, Text) for part in result.parts):
        return [result] if len(result.text) >= min_chars else []
    texts = (part for part in result.parts if isinstance(part, Text) and len(part.text) >= min_chars)
    # Where the words have the place of the whole result, replacing them would remove what is beside them.
    return [text for text in texts if text.at != result.at]


def line_count(text: str) -> int:
    """How many lines a text has; a line break at the end begins no new one."""
    return text.count("\n") + (not text.endswith("\n")) if text else 0


def read_paths(seen: Seen, root: str, *, shell_reads: bool) -> frozenset[str]:
    """The files that a result shows; none if it shows anything besides, such as a listing or what a search found.

    Of a command (`cat a.py`) only if shell reads count. A path that is no Unicode text cannot be stored, and is none. A file
    that Redline wrote of a whole result is none either: it shows what an earlier result said, piece by piece.
    """
    paths = set()
    for action in seen.actions:
        if isinstance(action, Reads) and names_whole_results(action.path):
            return frozenset()
        if isinstance(action, Reads) and is_unicode(action.path):
            paths.add(normalize_path(action.path, root))
        elif not (shell_reads and isinstance(action, Runs)):
            return frozenset()
    return frozenset(paths)


def written_paths(seen: Seen, root: str) -> frozenset[str]:
    """The files that a call makes, edits, moves or deletes."""
    return frozenset(
        normalize_path(action.path, root) for action in seen.actions if isinstance(action, Writes) and is_unicode(action.path)
    )


def call_fingerprint(call: ToolCall) -> bytes | None:
    """Equal for equal calls, whatever the order of their arguments; short, because there is one for each call.

    None for arguments that are no JSON, such as a number of thousands of digits.
    """
    try:
        content = payloads.canonical([call.name, call.arguments])
    except (RecursionError, TypeError, ValueError):
        return None
    return hashlib.blake2b(content, digest_size=16).digest()
