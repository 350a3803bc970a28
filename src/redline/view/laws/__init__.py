"""What makes a request legal, one law a file; `check` finds every place where a list of messages breaks one."""

from collections.abc import Sequence
from functools import cache

from redline.formats import read_history
from redline.payloads import Payload
from redline.view.laws.accepted_media import AcceptedMedia
from redline.view.laws.answered_calls import AnsweredCalls
from redline.view.laws.block_shapes import BlockShapes
from redline.view.laws.cache_breakpoints import CacheBreakpoints
from redline.view.laws.call_inputs import CallInputs
from redline.view.laws.equal_counts import EqualCounts
from redline.view.laws.failed_results import FailedResults
from redline.view.laws.first_message import FirstMessage
from redline.view.laws.front_results import FrontResults
from redline.view.laws.hosted_results import HostedResults
from redline.view.laws.known_fields import KnownFields
from redline.view.laws.known_roles import KnownRoles
from redline.view.laws.law import History, Law, Problem
from redline.view.laws.parts_by_role import PartsByRole
from redline.view.laws.present_content import PresentContent
from redline.view.laws.reasoning_order import ReasoningOrder
from redline.view.laws.requested_results import RequestedResults
from redline.view.laws.signed_reasoning import SignedReasoning
from redline.view.laws.system_place import SystemPlace
from redline.view.laws.tool_names import ToolNames
from redline.view.laws.trailing_space import TrailingSpace
from redline.view.laws.turn_order import TurnOrder
from redline.view.laws.unique_call_ids import UniqueCallIds
from redline.view.laws.well_formed_ids import WellFormedIds

__all__ = ["LAWS", "History", "Law", "Problem", "check", "problems_of"]

LAWS: tuple[Law, ...] = (
    AnsweredCalls(),
    RequestedResults(),
    UniqueCallIds(),
    WellFormedIds(),
    FirstMessage(),
    PresentContent(),
    FrontResults(),
    PartsByRole(),
    ReasoningOrder(),
    EqualCounts(),
    TurnOrder(),
    SystemPlace(),
    HostedResults(),
    TrailingSpace(),
    CacheBreakpoints(),
    KnownFields(),
    KnownRoles(),
    BlockShapes(),
    CallInputs(),
    ToolNames(),
    SignedReasoning(),
    FailedResults(),
    AcceptedMedia(),
)


def check(messages: Sequence[Payload], *, format: str = "auto") -> list[Problem]:
    """Every problem that would make the provider refuse these messages, in order; an empty list if there is none."""
    chosen, history = read_history(messages, format)
    return problems_of(History.of(history, chosen))


def problems_of(history: History, *, is_stored: bool = False) -> list[Problem]:
    """Every problem of messages that are read already. What is stored may hold fields that are not sent: they count only
    where these very messages are to be sent."""
    name = history.format.name
    problems = [
        Problem(broken.index, broken.part, law.name, law.rules[name], broken.found)
        for law in _laws_of(name)
        if not (is_stored and law.name == KnownFields.name)
        for broken in law.broken(history)
    ]
    return sorted(problems, key=lambda problem: (problem.index, -1 if problem.part is None else problem.part))


@cache
def _laws_of(format: str) -> tuple[Law, ...]:
    return tuple(law for law in LAWS if format in law.rules)
