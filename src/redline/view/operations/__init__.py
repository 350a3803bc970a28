"""The operations on a view: each is a checked value, applied to a state and giving the state after it."""

from redline.view.operations.clear import Clear
from redline.view.operations.filter import Filter
from redline.view.operations.insert import Insert
from redline.view.operations.operation import Context, MessageStore, Operation, OperationOutcome
from redline.view.operations.parse import parse_operation
from redline.view.operations.replace import Replace
from redline.view.operations.start_batch import StartBatch
from redline.view.operations.truncate import Span, Truncate

__all__ = [
    "Clear",
    "Context",
    "Filter",
    "Insert",
    "MessageStore",
    "Operation",
    "OperationOutcome",
    "Replace",
    "Span",
    "StartBatch",
    "Truncate",
    "parse_operation",
]
