"""Messages of one provider as a legal request of another, with everything that was lost or repaired listed."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from redline.formats import find_format, read_history, read_messages
from redline.formats.translate import Loss, translate
from redline.repair.changes import Change, Strategy
from redline.repair.legalizer import Legalizer, legalize
from redline.repair.strategies import check_strategy
from redline.values.payloads import Payload

__all__ = ["Conversion", "convert"]


@dataclass(frozen=True, slots=True)
class Conversion:
    """The messages in the target format, legal to send."""

    messages: list[Any]
    system: str | None
    """The system prompt, where the target holds it beside the messages."""
    lost: tuple[Loss, ...] = ()
    """What could not be carried. Empty: nothing is missing."""
    repairs: tuple[Change, ...] = ()
    """What was done so that the provider takes them. Empty: nothing had to be."""


def convert(
    messages: Sequence[Payload],
    *,
    target: str,
    source: str = "auto",
    system: str | None = None,
    strategy: Strategy = "answer",
) -> Conversion:
    """The messages in the format `target`, so that another provider can go on with the conversation.

    `system` is the system prompt that the source holds beside its messages. A call without a result is treated by the strategy,
    as in `make_legal`; by default it is answered as interrupted, so that nothing that was said is lost. Calls keep their ids,
    but for those that are missing, used twice or refused: such a call and its result get an id made from their place.
    """
    check_strategy(strategy)
    reader, history = read_history(messages, source)
    repaired = Legalizer.over(history, reader, strategy, lifts_system=True).repair()
    if reader.name == target:
        prompts, rest = [system] if system else [], list[Payload]()
        for item in repaired.items:
            if reader.is_apart(item.message, has_begun=bool(rest)):
                prompts.append(item.message.text)
            else:
                rest.append(item.message.native)
        return Conversion(_sent(rest, target), "\n\n".join(prompts) or None, (), repaired.changes)
    sources = [item.index for item in repaired.items]
    natives = [reader.write(item.message) for item in repaired.items]
    there = translate(natives, source=reader.name, target=target, system=system)
    again = legalize(read_messages(there.messages, target), find_format(target), strategy)
    lost = [Loss(max(sources[loss.index], 0), loss.what) for loss in there.lost]
    more = [msgspec.structs.replace(change, index=sources[there.origins[change.index]]) for change in again.changes]
    sent = _sent([item.message.native for item in again.items], target)
    return Conversion(sent, there.system, tuple(lost), (*repaired.changes, *more))


def _sent(natives: Sequence[Payload], target: str) -> list[Payload]:
    """The messages without what the provider does not take."""
    writer = find_format(target)
    return writer.within_limits([writer.sendable(payload) for payload in natives])
