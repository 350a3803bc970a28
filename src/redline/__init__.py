"""Redline decides what an LLM agent's model sees; these are its public names, each loaded when it is first used.

Here is what most programs need. What one extends or configures is public in its own package, in one line:
`redline.rules`, `redline.schedules`, `redline.record`, `redline.record.blobs`, `redline.store`, `redline.prices`,
`redline.providers`, `redline.tools`, `redline.tokens`, `redline.agents.readers`, `redline.aio`, `redline.values`,
`redline.telemetry`, `redline.testing`. Everything else is private.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from redline import aio as aio
    from redline import blobs as blobs
    from redline import formats as formats
    from redline import log as log
    from redline import prices as prices
    from redline import providers as providers
    from redline import record as record
    from redline import rules as rules
    from redline import schedules as schedules
    from redline import store as store
    from redline import telemetry as telemetry
    from redline import testing as testing
    from redline import tokens as tokens
    from redline import tools as tools
    from redline import transcripts as transcripts
    from redline import values as values
    from redline.agents.menders import Fix as Fix
    from redline.agents.menders import Mending as Mending
    from redline.agents.menders import mend_transcript as mend_transcript
    from redline.agents.readers import SessionPlace as SessionPlace
    from redline.agents.readers import Transcript as Transcript
    from redline.agents.readers import read_transcript as read_transcript
    from redline.agents.readers import session_places as session_places
    from redline.conversation.conversation import Conversation as Conversation
    from redline.conversation.editor import EditedRequest as EditedRequest
    from redline.conversation.editor import Editor as Editor
    from redline.conversation.lists import Conversion as Conversion
    from redline.conversation.lists import OffloadResult as OffloadResult
    from redline.conversation.lists import check as check
    from redline.conversation.lists import clean_orphaned_tool_calls as clean_orphaned_tool_calls
    from redline.conversation.lists import convert as convert
    from redline.conversation.lists import legal_tools as legal_tools
    from redline.conversation.lists import make_legal as make_legal
    from redline.conversation.lists import offload_tool_results as offload_tool_results
    from redline.conversation.lists import read_offloaded as read_offloaded
    from redline.conversation.lists import simplify_historical_file_reads as simplify_historical_file_reads
    from redline.conversation.lists import simplify_outdated_terminal_results as simplify_outdated_terminal_results
    from redline.conversation.opening import open as open
    from redline.conversation.outlining import check_summary as check_summary
    from redline.conversation.outlining import outline as outline
    from redline.conversation.stored_messages import filter_messages as filter_messages
    from redline.conversation.stored_messages import load_session_messages as load_session_messages
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
    from redline.outlines.checking import SummaryCheck as SummaryCheck
    from redline.outlines.outline import Outline as Outline
    from redline.policy.policy import Policy as Policy
    from redline.providers import FORMATS as FORMATS
    from redline.providers import detect_format as detect_format
    from redline.providers import find_format as find_format
    from redline.providers import read_messages as read_messages
    from redline.providers.laws import Problem as Problem
    from redline.record.blobs import Blobs as Blobs
    from redline.record.blobs import DirectoryBlobs as DirectoryBlobs
    from redline.record.blobs import MemoryBlobs as MemoryBlobs
    from redline.record.blobs import ObjectStoreBlobs as ObjectStoreBlobs
    from redline.record.blobs import open_blobs as open_blobs
    from redline.record.blobs.retrieval import recall as recall
    from redline.record.blobs.retrieval import recall_tool as recall_tool
    from redline.record.blobs.search import search_tool as search_tool
    from redline.record.records import Strike as Strike
    from redline.redaction import redact as redact
    from redline.redaction import redact_text as redact_text
    from redline.rules import RULES as RULES
    from redline.rules import default_rules as default_rules
    from redline.rules.protection import Protection as Protection
    from redline.schedules import Budget as Budget
    from redline.schedules import Case as Case
    from redline.schedules import Decision as Decision
    from redline.schedules import Decisions as Decisions
    from redline.schedules import Eager as Eager
    from redline.schedules import Rates as Rates
    from redline.schedules import Schedule as Schedule
    from redline.schedules import ScheduleInput as ScheduleInput
    from redline.schedules import WhenFree as WhenFree
    from redline.sessions import Inspection as Inspection
    from redline.sessions import inspect_transcript as inspect_transcript
    from redline.store import Store as Store
    from redline.transport.transport import AsyncRedlineTransport as AsyncRedlineTransport
    from redline.transport.transport import RedlineTransport as RedlineTransport
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
    from redline.values.words import ZH as ZH
    from redline.values.words import Placeholders as Placeholders
    from redline.values.words import Words as Words

_PUBLIC = {
    "redline.record.blobs.retrieval": ("recall", "recall_tool"),
    "redline.record.blobs.search": ("search_tool",),
    "redline.conversation.conversation": ("Conversation",),
    "redline.conversation.editor": ("EditedRequest", "Editor"),
    "redline.conversation.outlining": ("check_summary", "outline"),
    "redline.outlines.checking": ("SummaryCheck",),
    "redline.outlines.outline": ("Outline",),
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
    "redline.sessions": ("inspect_transcript",),
    "redline.providers.laws": ("Problem",),
    "redline.conversation.lists": (
        "Conversion",
        "OffloadResult",
        "check",
        "clean_orphaned_tool_calls",
        "convert",
        "legal_tools",
        "make_legal",
        "offload_tool_results",
        "read_offloaded",
        "simplify_historical_file_reads",
        "simplify_outdated_terminal_results",
    ),
    "redline.conversation.stored_messages": ("filter_messages", "load_session_messages"),
    "redline.record.records": ("Strike",),
    "redline.agents.menders": ("mend_transcript",),
    "redline.conversation.opening": ("open",),
    "redline.policy.policy": ("Policy",),
    "redline.redaction": ("redact", "redact_text"),
    "redline.rules.protection": ("Protection",),
    "redline.store": ("Store",),
    "redline.agents.readers": ("Transcript", "read_transcript", "session_places"),
    "redline.values.words": ("EN", "Placeholders", "ZH"),
    "redline.transport.transport": ("AsyncRedlineTransport", "RedlineTransport"),
}
_MOVED = {
    "redline.record.blobs": ("Blobs", "DirectoryBlobs", "MemoryBlobs", "ObjectStoreBlobs", "open_blobs"),
    "redline.providers": ("FORMATS", "detect_format", "find_format", "read_messages"),
    "redline.sessions": ("Inspection",),
    "redline.agents.menders": ("Fix", "Mending"),
    "redline.rules": ("RULES", "default_rules"),
    "redline.schedules": ("Budget", "Case", "Decision", "Decisions", "Eager", "Rates", "Schedule", "ScheduleInput", "WhenFree"),
    "redline.agents.readers": ("SessionPlace",),
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
    "redline.values.words": ("DOCUMENTS", "Words"),
}
"""Names that were here before and are now public in their own packages; they still work."""
_HOME_OF = {name: home for homes in (_PUBLIC, _MOVED) for home, names in homes.items() for name in names}

_PACKAGES = (
    "aio",
    "blobs",
    "formats",
    "log",
    "prices",
    "providers",
    "record",
    "rules",
    "schedules",
    "store",
    "telemetry",
    "testing",
    "tokens",
    "tools",
    "transcripts",
    "values",
)
"""Public packages: `redline.rules` is there after `import redline`."""

__version__ = "0.2.0"
__all__ = [
    "EN",
    "ZH",
    "AsyncRedlineTransport",
    "BlobStoreError",
    "Conversation",
    "Conversion",
    "EditedRequest",
    "Editor",
    "ExecutionError",
    "FormatError",
    "LogError",
    "MissingExtraError",
    "OffloadResult",
    "Placeholders",
    "Policy",
    "Problem",
    "Protection",
    "RedlineError",
    "RedlineTransport",
    "Request",
    "StaleLogError",
    "Store",
    "Strike",
    "SummaryCheck",
    "Transcript",
    "TranscriptError",
    "ValidationError",
    "check",
    "check_summary",
    "clean_orphaned_tool_calls",
    "convert",
    "filter_messages",
    "inspect_transcript",
    "legal_tools",
    "load_session_messages",
    "make_legal",
    "mend_transcript",
    "offload_tool_results",
    "open",
    "outline",
    "read_offloaded",
    "read_transcript",
    "recall",
    "recall_tool",
    "redact",
    "redact_text",
    "search_tool",
    "session_places",
    "simplify_historical_file_reads",
    "simplify_outdated_terminal_results",
]


if not TYPE_CHECKING:  # a type checker would take any name for one of ours

    def __getattr__(name: str) -> object:
        if name in _PACKAGES:
            return import_module(f"redline.{name}")
        if name not in _HOME_OF:
            raise AttributeError(f"module 'redline' has no attribute {name!r}")
        try:
            value = getattr(import_module(_HOME_OF[name]), name)
        except (ImportError, AttributeError) as problem:
            if clash := import_module("redline.name_clash").name_clash_error():
                raise clash from problem
            raise
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return [*__all__, *_PACKAGES, "__version__"]
