"""Redline decides what an LLM agent's model sees; these are its public names, each loaded when it is first used."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from redline.blobs import Blobs as Blobs
    from redline.blobs.directory import DirectoryBlobs as DirectoryBlobs
    from redline.blobs.memory import MemoryBlobs as MemoryBlobs
    from redline.blobs.object_store import ObjectStoreBlobs as ObjectStoreBlobs
    from redline.blobs.opening import open_blobs as open_blobs
    from redline.blobs.recall import recall as recall
    from redline.blobs.recall import recall_tool as recall_tool
    from redline.conversation import Conversation as Conversation
    from redline.engine.balance import Rates as Rates
    from redline.engine.budget import Budget as Budget
    from redline.engine.protection import Protection as Protection
    from redline.engine.request import Request as Request
    from redline.engine.schedule import Case as Case
    from redline.engine.schedule import Decision as Decision
    from redline.engine.schedule import Decisions as Decisions
    from redline.engine.schedule import Eager as Eager
    from redline.engine.schedule import Schedule as Schedule
    from redline.engine.when_free import WhenFree as WhenFree
    from redline.errors import BlobStoreError as BlobStoreError
    from redline.errors import ExecutionError as ExecutionError
    from redline.errors import FormatError as FormatError
    from redline.errors import LogError as LogError
    from redline.errors import MissingExtraError as MissingExtraError
    from redline.errors import RedlineError as RedlineError
    from redline.errors import TranscriptError as TranscriptError
    from redline.errors import ValidationError as ValidationError
    from redline.formats import FORMATS as FORMATS
    from redline.formats import detect_format as detect_format
    from redline.formats import find_format as find_format
    from redline.formats import read_messages as read_messages
    from redline.inspection import Inspection as Inspection
    from redline.inspection import inspect_transcript as inspect_transcript
    from redline.log.records import Strike as Strike
    from redline.mending import Fix as Fix
    from redline.mending import Mending as Mending
    from redline.mending import mend_transcript as mend_transcript
    from redline.messages import Media as Media
    from redline.messages import Message as Message
    from redline.messages import Opaque as Opaque
    from redline.messages import Part as Part
    from redline.messages import Reasoning as Reasoning
    from redline.messages import Text as Text
    from redline.messages import ToolCall as ToolCall
    from redline.messages import ToolResult as ToolResult
    from redline.messages import identity as identity
    from redline.offload import OffloadResult as OffloadResult
    from redline.offload import offload_tool_results as offload_tool_results
    from redline.offload import read_offloaded as read_offloaded
    from redline.opening import open as open
    from redline.placeholders import DOCUMENTS as DOCUMENTS
    from redline.placeholders import EN as EN
    from redline.placeholders import Words as Words
    from redline.policy import Policy as Policy
    from redline.redaction import redact as redact
    from redline.redaction import redact_text as redact_text
    from redline.rules import RULES as RULES
    from redline.rules import default_rules as default_rules
    from redline.sessions import filter_messages as filter_messages
    from redline.sessions import load_session_messages as load_session_messages
    from redline.simplify import simplify_historical_file_reads as simplify_historical_file_reads
    from redline.simplify import simplify_outdated_terminal_results as simplify_outdated_terminal_results
    from redline.transcripts import SessionPlace as SessionPlace
    from redline.transcripts import Transcript as Transcript
    from redline.transcripts import read_transcript as read_transcript
    from redline.transcripts import session_places as session_places
    from redline.view.laws import Problem as Problem
    from redline.view.laws import check as check
    from redline.view.repair import clean_orphaned_tool_calls as clean_orphaned_tool_calls
    from redline.view.repair import make_legal as make_legal
    from redline.view.repair.convert import Conversion as Conversion
    from redline.view.repair.convert import convert as convert

_HOMES = {
    "redline.blobs": ("Blobs",),
    "redline.blobs.directory": ("DirectoryBlobs",),
    "redline.blobs.memory": ("MemoryBlobs",),
    "redline.blobs.object_store": ("ObjectStoreBlobs",),
    "redline.blobs.opening": ("open_blobs",),
    "redline.blobs.recall": ("recall", "recall_tool"),
    "redline.conversation": ("Conversation",),
    "redline.engine.balance": ("Rates",),
    "redline.engine.budget": ("Budget",),
    "redline.engine.protection": ("Protection",),
    "redline.engine.request": ("Request",),
    "redline.engine.schedule": ("Case", "Decision", "Decisions", "Eager", "Schedule"),
    "redline.engine.when_free": ("WhenFree",),
    "redline.errors": (
        "BlobStoreError",
        "ExecutionError",
        "FormatError",
        "LogError",
        "MissingExtraError",
        "RedlineError",
        "TranscriptError",
        "ValidationError",
    ),
    "redline.formats": ("FORMATS", "detect_format", "find_format", "read_messages"),
    "redline.view.repair.convert": ("Conversion", "convert"),
    "redline.inspection": ("Inspection", "inspect_transcript"),
    "redline.log.records": ("Strike",),
    "redline.mending": ("Fix", "Mending", "mend_transcript"),
    "redline.messages": (
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
    "redline.offload": ("OffloadResult", "offload_tool_results", "read_offloaded"),
    "redline.opening": ("open",),
    "redline.placeholders": ("DOCUMENTS", "EN", "Words"),
    "redline.policy": ("Policy",),
    "redline.redaction": ("redact", "redact_text"),
    "redline.rules": ("RULES", "default_rules"),
    "redline.sessions": ("filter_messages", "load_session_messages"),
    "redline.simplify": ("simplify_historical_file_reads", "simplify_outdated_terminal_results"),
    "redline.transcripts": ("SessionPlace", "Transcript", "read_transcript", "session_places"),
    "redline.view.laws": ("Problem", "check"),
    "redline.view.repair": ("clean_orphaned_tool_calls", "make_legal"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__version__ = "0.2.0"
__all__ = sorted(_HOME_OF)


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'redline' has no attribute {name!r}")
    value = getattr(import_module(_HOME_OF[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
