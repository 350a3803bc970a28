"""Results are where the provider looks for them: on the side that gives results, in one message, in front, and in words."""

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from redline.providers.format import Format
from redline.providers.laws.law import Broken, Change, ExchangeDraft, History, Item, law
from redline.providers.laws.message_flaws import flaws_of
from redline.values.messages import Media, Message, Part, Text, ToolCall, ToolResult
from redline.values.pairs import ToolStep


@law(anthropic="the very next user message starts with the tool_result blocks for all tool_use blocks")
def front_results(history: History) -> Iterator[Broken]:
    """Results are at the front of the one message after their calls."""
    for index, message in enumerate(history.messages):
        if len(message.parts) < 2:
            continue
        results = [place for place, part in enumerate(message.parts) if type(part) is ToolResult and not part.is_hosted]
        for rank, place in enumerate(results):
            if place != rank:
                yield Broken(index, place, "the result comes after other content")
    for step in history.pairs.steps:
        expected = step.messages[-1] + 1
        for spot in step.answers.values():
            if spot.message != expected:
                found = f"the result is in message {spot.message}, not in {expected} with the others"
                yield Broken(spot.message, spot.part, found)


@law(gemini="the number of functionResponse parts must equal the number of functionCall parts of the turn before")
def equal_counts(history: History) -> Iterator[Broken]:
    """The turn after N calls holds their N responses."""
    for step in history.pairs.steps:
        turn = step.messages[-1]
        following = history.messages[turn + 1 : turn + 2]
        found = len(following[0].results) if following else 0
        if found != len(step.calls):
            yield Broken(turn, None, f"{len(step.calls)} calls, but {found} responses in the next turn")


@law(
    anthropic="a base64 picture is image/jpeg, image/png, image/gif or image/webp",
    openai_chat="pictures are only in messages of the user; a tool message holds text",
)
def accepted_media(history: History) -> Iterator[Broken]:
    """Pictures are of a type that the provider takes, and where it takes them."""
    yield from flaws_of("accepted_media", history)
    for index, message in enumerate(history.messages) if history.format.results_are_text else ():
        yield from (Broken(index, 0, f"{media.media_type} in a result") for media in _refused_media(message, history.format))


def misplaced_results(message: Message) -> Sequence[ToolResult]:
    """The results that are not for this side to give: the assistant's or the system's."""
    return () if message.role in ("user", "tool") else message.results


def split_results(message: Message, format: Format) -> tuple[Message | None, Message | None, Message | None]:
    """Results for earlier calls, the message without results that are not its to give, and results for its own calls."""
    results = misplaced_results(message)
    if not results:
        return None, message, None
    step: ToolStep[int] = ToolStep(
        calls={place: part for place, part in enumerate(message.parts) if isinstance(part, ToolCall)}
    )
    own: list[ToolResult] = []
    earlier: list[ToolResult] = []
    for place, result in enumerate(results):
        (earlier if step.take(result, place) is None else own).append(result)
    before = format.set_apart(message, earlier) if earlier else None
    return before, format.remove(message, results), format.set_apart(message, own) if own else None


def gather_results(draft: ExchangeDraft, format: Format) -> ExchangeDraft:
    """The exchange with its results in one message, one that says something else too if any, in front where wanted."""
    wants_front = format.name in front_results.rules
    if not wants_front and format.name not in equal_counts.rules:
        return draft
    holders = [item for item in draft.heard if item.message.results]
    if not holders:
        return draft
    if len(holders) == 1:
        parts = holders[0].message.parts if wants_front else ()
        are_results = [type(part) is ToolResult and not part.is_hosted for part in parts]
        if are_results == sorted(are_results, reverse=True):
            return draft
    base = holders[-1] if len(holders[-1].message.results) < len(holders[-1].message.parts) else holders[0]
    others = [item for item in holders if item is not base]
    merged = Item(format.gather(base.message, [item.message for item in others]), base.source)
    taken = f"the results of message {', '.join(str(item.index) for item in others)} were merged into it"
    changes = [Change(base.index, taken if others else "its results were moved to the front")]
    changes += [Change(item.index, f"its results were merged into message {base.index}") for item in others]
    return draft.changed(changes, heard=[merged, *draft.heard[len(holders) :]])


def with_media_after_results(draft: ExchangeDraft, format: Format) -> ExchangeDraft:
    """The exchange in which the user shows what its results may not hold, directly after the results."""
    if not any(_refused_media(item.message, format) for item in draft.heard):
        return draft
    results: list[Item] = []
    shown: list[Part] = []
    changes: list[Change] = []
    for item in draft.heard:
        message = item.message
        for media in _refused_media(message, format):
            may_show = bool(format.compose("user", (media,)).payloads)
            note = f"[{media.media_type} {'attached below' if may_show else 'not shown: the provider does not take it'}]"
            message = format.rewrite(message, media, note)
            shown += [Text(f"[{media.media_type} from the result of {message.results[0].call_id}]"), media] if may_show else []
            changes.append(Change(item.index, f"{media.media_type} was taken out of its result: a result is text"))
        if message is not item.message:
            results.append(Item(replace(message, timestamp_ms=item.message.timestamp_ms), item.source))
        elif message.results:
            results.append(item)
    others = [item for item in draft.heard if not item.message.results]
    said = [Item(format.read(payload), None) for payload in format.compose("user", shown).payloads]
    return draft.changed(changes, heard=[*results, *said, *others])


def _refused_media(message: Message, format: Format) -> Sequence[Media]:
    """The media that results of a message hold although they must be text; not what agents store beside the content."""
    if not format.results_are_text or message.role != "tool":
        return ()
    held = [part for result in message.results for part in result.parts if isinstance(part, Media)]
    return [part for part in held if part.at[:1] == ("content",)]
