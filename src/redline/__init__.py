"""Redline decides what an LLM agent's model sees; these are its public names, each loaded when it is first used.

Here is what most programs need. What one extends or configures is public in its own package, in one line:
`redline.rules`, `redline.schedules`, `redline.log`, `redline.blobs`, `redline.store`, `redline.prices`, `redline.formats`,
`redline.tools`, `redline.tokens`, `redline.transcripts`, `redline.values`, `redline.telemetry`, `redline.testing`. Everything
else is private.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from redline.blobs.retrieval import recall as recall
    from redline.blobs.retrieval import recall_tool as recall_tool
    from redline.conversation import Conversation as Conversation
    from redline.editor import EditedRequest as EditedRequest
    from redline.editor import Editor as Editor
    from redline.engine.request import Request as Request
    from redline.errors import BlobStoreError as BlobStoreError
    from redline.errors import ExecutionError as ExecutionError
    from redline.errors import FormatError as FormatError
    from redline.errors import LogError as LogError
    from redline.errors import MissingExtraError as MissingExtraError
    from redline.errors import RedlineError as RedlineError
    from redline.errors import StaleLogError as StaleLogError
    from redline.errors import TranscriptError as TranscriptError
    from redline.errors import ValidationError as ValidationError
    from redline.inspection import inspect_transcript as inspect_transcript
    from redline.laws import Problem as Problem
    from redline.lists.check import check as check
    from redline.lists.convert import Conversion as Conversion
    from redline.lists.convert import convert as convert
    from redline.lists.offload import OffloadResult as OffloadResult
    from redline.lists.offload import offload_tool_results as offload_tool_results
    from redline.lists.offload import read_offloaded as read_offloaded
    from redline.lists.repair import clean_orphaned_tool_calls as clean_orphaned_tool_calls
    from redline.lists.repair import make_legal as make_legal
    from redline.lists.sessions import filter_messages as filter_messages
    from redline.lists.sessions import load_session_messages as load_session_messages
    from redline.lists.simplify import simplify_historical_file_reads as simplify_historical_file_reads
    from redline.lists.simplify import simplify_outdated_terminal_results as simplify_outdated_terminal_results
    from redline.log.records import Strike as Strike
    from redline.mending import mend_transcript as mend_transcript
    from redline.opening import open as open
    from redline.policy import Policy as Policy
    from redline.redaction import redact as redact
    from redline.redaction import redact_text as redact_text
    from redline.rules.protection import Protection as Protection
    from redline.store import Store as Store
    from redline.transcripts import Transcript as Transcript
    from redline.transcripts import read_transcript as read_transcript
    from redline.transcripts import session_places as session_places
    from redline.values.words import DOCUMENTS as DOCUMENTS
    from redline.values.words import EN as EN
    from redline.values.words import Words as Words
    from redline.wire.transport import AsyncRedlineTransport as AsyncRedlineTransport
    from redline.wire.transport import RedlineTransport as RedlineTransport

_PUBLIC = {
    "redline.blobs.retrieval": ("recall", "recall_tool"),
    "redline.conversation": ("Conversation",),
    "redline.editor": ("EditedRequest", "Editor"),
    "redline.engine.request": ("Request",),
    "redline.errors": (
        "BlobStoreError",
        "ExecutionError",
        "FormatError",
        "LogError",
        "MissingExtraError",
        "RedlineError",
        "StaleLogError",
        "TranscriptError",
        "ValidationError",
    ),
    "redline.inspection": ("inspect_transcript",),
    "redline.laws": ("Problem",),
    "redline.lists.check": ("check",),
    "redline.lists.convert": ("Conversion", "convert"),
    "redline.lists.offload": ("OffloadResult", "offload_tool_results", "read_offloaded"),
    "redline.lists.repair": ("clean_orphaned_tool_calls", "make_legal"),
    "redline.lists.sessions": ("filter_messages", "load_session_messages"),
    "redline.lists.simplify": ("simplify_historical_file_reads", "simplify_outdated_terminal_results"),
    "redline.log.records": ("Strike",),
    "redline.mending": ("mend_transcript",),
    "redline.opening": ("open",),
    "redline.policy": ("Policy",),
    "redline.redaction": ("redact", "redact_text"),
    "redline.rules.protection": ("Protection",),
    "redline.store": ("Store",),
    "redline.transcripts": ("Transcript", "read_transcript", "session_places"),
    "redline.values.words": ("DOCUMENTS", "EN", "Words"),
    "redline.wire.transport": ("AsyncRedlineTransport", "RedlineTransport"),
}
_MOVED = {
    "redline.blobs": ("Blobs", "DirectoryBlobs", "MemoryBlobs", "ObjectStoreBlobs", "open_blobs"),
    "redline.formats": ("FORMATS", "detect_format", "find_format", "read_messages"),
    "redline.inspection": ("Inspection",),
    "redline.mending": ("Fix", "Mending"),
    "redline.rules": ("RULES", "default_rules"),
    "redline.schedules": ("Budget", "Case", "Decision", "Decisions", "Eager", "Rates", "Schedule", "WhenFree"),
    "redline.transcripts": ("SessionPlace",),
    "redline.values.messages": (
        "Media",
        "Message",
        "Opaque",
        "Part",
        "Reasoning",
        "Text",
        "ToolCall",
        "ToolResult",
        "identity",
    ),
}
"""Names that were here before and are now public in their own packages; they still work."""
_HOME_OF = {name: home for homes in (_PUBLIC, _MOVED) for home, names in homes.items() for name in names}

__version__ = "0.2.0"
__all__ = sorted(name for names in _PUBLIC.values() for name in names)


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'redline' has no attribute {name!r}")
    value = getattr(import_module(_HOME_OF[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
