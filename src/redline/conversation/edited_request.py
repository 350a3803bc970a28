"""What an Editor says to send in place of a list, and why it differs from it."""

import dataclasses
import operator
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

from redline.conversation.resent.incoming import IncomingList
from redline.engine.request import Request
from redline.engine.sent import Sent
from redline.errors import ValidationError
from redline.providers import find_format
from redline.providers.format import Format
from redline.record.log import ROOT
from redline.values import payloads
from redline.values.checks import short_repr
from redline.values.payloads import Payload


@dataclasses.dataclass(frozen=True, repr=False)
class EditedRequest(Request):
    """What to send in place of a list of messages, and why it differs from it."""

    said: Sequence[Payload] = ()
    """What to send, in order. A message that is not changed is the very object, or the very bytes, of the caller's."""
    positions: Sequence[int | None] = ()
    """Of each of these the position in the caller's list; None for one that the repair made of others or of nothing."""
    is_changed: bool = False
    """Whether what to send differs from the caller's list."""
    untouched: str = ""
    """Why the list was passed on as it is, without a look at what might go."""
    log: str = ""
    """The name of the log in the store."""
    record: int = ROOT
    """The last record of its way through that log."""
    learned_limits: Mapping[str, int] = dataclasses.field(default_factory=dict)
    """What the provider takes of this history by the name of the limit, where it refused more."""
    recall_tool: str = ""
    """The tool for recall that its history is offered from the first request on; empty if none is."""

    @property
    def pieces(self) -> tuple[tuple[int | None, Payload], ...]:
        """What to send, in order: the position in the caller's list, and the message."""
        return tuple(zip(self.positions, self.said, strict=True))

    @cached_property
    def messages(self) -> list[Any]:
        """The messages to send. Those that are not changed are the caller's own objects, where it gave objects."""
        return [payloads.decode(payload) for payload in self.said]

    @cached_property
    def body(self) -> bytes:
        """The messages as one JSON list, those that are not changed byte for byte as they were given."""
        return payloads.join_list(map(payloads.encoded, self.said))

    def without_content(self) -> "EditedRequest":
        """The request's place in its log and its model, without its messages: for callers that remember many requests."""
        return _without_strikes(find_format(self.format), model=self.model, log=self.log, record=self.record)

    def _decoded(self) -> list[Any]:
        return payloads.decode_all([payloads.encoded(payload) for payload in self.said])


def check_request(request: object) -> None:
    """Refuse what no Editor gave."""
    if not isinstance(request, EditedRequest):
        raise ValidationError(f"request must be what edit() gave, not {short_repr(request)}")


def unchanged_request(given: IncomingList, why: str) -> EditedRequest:
    """The list as it came."""
    return _without_strikes(
        given.format,
        count_tokens=lambda: sum(map(len, given.natives)) // 4,
        said=given.messages,
        positions=range(len(given.messages)),
        untouched=why,
    )


def _without_strikes(format: Format, *, count_tokens: Callable[[], int] = int, **fields: Any) -> EditedRequest:
    return EditedRequest(format.name, Sent.of_nothing(format), (), (), tuple, tuple, tuple, count_tokens, **fields)


def is_changed(given: IncomingList, said: Sequence[Payload]) -> bool:
    """Whether something else than the caller's own messages is to be sent."""
    return len(said) != len(given.messages) or not all(map(operator.is_, said, given.messages))
