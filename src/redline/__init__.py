"""Redline decides what an LLM agent's model sees; these are its public names, each loaded when it is first used."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from redline.blobs import Blobs as Blobs
    from redline.blobs.directory import DirectoryBlobs as DirectoryBlobs
    from redline.blobs.memory import MemoryBlobs as MemoryBlobs
    from redline.blobs.object_store import ObjectStoreBlobs as ObjectStoreBlobs
    from redline.blobs.opening import open_blobs as open_blobs
    from redline.blobs.retrieval import recall as recall
    from redline.blobs.retrieval import recall_tool as recall_tool
    from redline.conversation import Conversation as Conversation
    from redline.engine.balance import Rates as Rates
    from redline.engine.budget import Budget as Budget
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
    from redline.mending import Fix as Fix
    from redline.mending import Mending as Mending
    from redline.mending import mend_transcript as mend_transcript
    from redline.opening import open as open
    from redline.policy import Policy as Policy
    from redline.redaction import redact as redact
    from redline.redaction import redact_text as redact_text
    from redline.rules import RULES as RULES
    from redline.rules import default_rules as default_rules
    from redline.rules.protection import Protection as Protection
    from redline.transcripts import SessionPlace as SessionPlace
    from redline.transcripts import Transcript as Transcript
    from redline.transcripts import read_transcript as read_transcript
    from redline.transcripts import session_places as session_places
    from redline.values.messages import Media as Media
    from redline.values.messages import Message as Message
    from redline.values.messages import Opaque as Opaque
    from redline.values.messages import Part as Part
    from redline.values.messages import Reasoning as Reasoning
    from redline.values.messages import Text as Text
    from redline.values.messages import ToolCall as ToolCall
    from redline.values.messages import ToolResult as ToolResult
    from redline.values.messages import identity as identity
    from redline.values.words import DOCUMENTS as DOCUMENTS
    from redline.values.words import EN as EN
    from redline.values.words import Words as Words

_HOMES = {
    "redline.blobs": ("Blobs",),
    "redline.blobs.directory": ("DirectoryBlobs",),
    "redline.blobs.memory": ("MemoryBlobs",),
    "redline.blobs.object_store": ("ObjectStoreBlobs",),
    "redline.blobs.opening": ("open_blobs",),
    "redline.blobs.retrieval": ("recall", "recall_tool"),
    "redline.conversation": ("Conversation",),
    "redline.engine.balance": ("Rates",),
    "redline.engine.budget": ("Budget",),
    "redline.rules.protection": ("Protection",),
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
    "redline.lists.convert": ("Conversion", "convert"),
    "redline.inspection": ("Inspection", "inspect_transcript"),
    "redline.log.records": ("Strike",),
    "redline.mending": ("Fix", "Mending", "mend_transcript"),
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
    "redline.lists.offload": ("OffloadResult", "offload_tool_results", "read_offloaded"),
    "redline.opening": ("open",),
    "redline.values.words": ("DOCUMENTS", "EN", "Words"),
    "redline.policy": ("Policy",),
    "redline.redaction": ("redact", "redact_text"),
    "redline.rules": ("RULES", "default_rules"),
    "redline.lists.sessions": ("filter_messages", "load_session_messages"),
    "redline.lists.simplify": ("simplify_historical_file_reads", "simplify_outdated_terminal_results"),
    "redline.transcripts": ("SessionPlace", "Transcript", "read_transcript", "session_places"),
    "redline.laws": ("Problem",),
    "redline.lists.check": ("check",),
    "redline.lists.repair": ("clean_orphaned_tool_calls", "make_legal"),
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
