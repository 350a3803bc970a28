"""What makes a request legal, one law a file, and every place where a history breaks one."""

from functools import cache

from redline.laws.accepted_media import AcceptedMedia
from redline.laws.answered_calls import AnsweredCalls
from redline.laws.block_shapes import BlockShapes
from redline.laws.cache_breakpoints import CacheBreakpoints
from redline.laws.call_inputs import CallInputs
from redline.laws.equal_counts import EqualCounts
from redline.laws.failed_results import FailedResults
from redline.laws.first_message import FirstMessage
from redline.laws.front_results import FrontResults
from redline.laws.hosted_results import HostedResults
from redline.laws.known_fields import KnownFields
from redline.laws.known_roles import KnownRoles
from redline.laws.law import History, Law, Problem
from redline.laws.parts_by_role import PartsByRole
from redline.laws.present_content import PresentContent
from redline.laws.reasoning_order import ReasoningOrder
from redline.laws.requested_results import RequestedResults
from redline.laws.signed_reasoning import SignedReasoning
from redline.laws.system_place import SystemPlace
from redline.laws.tool_names import ToolNames
from redline.laws.trailing_space import TrailingSpace
from redline.laws.turn_order import TurnOrder
from redline.laws.unique_call_ids import UniqueCallIds
from redline.laws.well_formed_ids import WellFormedIds

__all__ = ["LAWS", "History", "Law", "Problem", "problems_of"]

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
    """The laws that a format knows, in their order."""
    return tuple(law for law in LAWS if format in law.rules)
