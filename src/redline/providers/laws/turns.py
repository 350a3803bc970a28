"""Who speaks first, after whom, and where the system does; the user says a line where the provider misses one."""

from collections.abc import Iterator, Sequence

import msgspec

from redline.providers.format import Format
from redline.providers.laws.content import ends_in_space, trailing_space
from redline.providers.laws.hosted_results import hosted_results, open_hosted_calls
from redline.providers.laws.law import Broken, Change, ExchangeDraft, History, Item, law
from redline.providers.laws.reasoning_order import tied_length
from redline.values.messages import Message, Text, ToolCall
from redline.values.words import ZH

GO_ON = "(Go on.)"
"""What the user says between two turns of the model, where the second may not follow the first."""
NOT_SHOWN = ZH.not_shown
"""What the user says first where the assistant would."""


@law(
    anthropic="the first message must use the user role",
    gemini="the first content must have the role user",
)
def first_message(history: History) -> Iterator[Broken]:
    """The first message, system messages aside, is the user's."""
    said = ((index, message.role) for index, message in enumerate(history.messages) if message.role != "system")
    index, role = next(said, (0, "user"))
    if role == "assistant":
        yield Broken(index, None, "the assistant speaks first")


@law(gemini="a function call turn comes immediately after a user turn or after a function response turn")
def turn_order(history: History) -> Iterator[Broken]:
    """A turn of calls comes directly after the user, or after the results of other calls (google-gemini/gemini-cli#26486)."""
    is_after_model = False
    for index, message in enumerate(history.messages):
        if message.role == "system":
            continue
        if is_after_model and message.role == "assistant" and message.calls:
            yield Broken(index, None, "the call comes after another turn of the model")
        is_after_model = message.role == "assistant"


@law(
    anthropic="the system prompt is the request's `system`, not its first message",
    gemini="the system prompt is the request's `systemInstruction`; contents know the roles user and model",
)
def system_place(history: History) -> Iterator[Broken]:
    """The system prompt is beside the messages, not the first of them; with Gemini, none of them.

    Anthropic's newest models take system messages later in a history:
    https://platform.claude.com/docs/en/build-with-claude/mid-conversation-system-messages.
    """
    has_begun = False
    for index, message in enumerate(history.messages):
        if history.format.is_apart(message, has_begun=has_begun):
            yield Broken(index, None, "a message of the system")
        else:
            has_begun = True


class Preceding(msgspec.Struct, frozen=True, omit_defaults=True):
    """The messages that are settled, in short."""

    has_begun: bool = False
    """Whether somebody besides the system has spoken."""
    ends_with_assistant: bool = False
    """Whether the assistant spoke last."""
    ends_in_space: bool = False
    """Whether the last words are the assistant's and end in white space, which the provider refuses at the end of all."""
    has_input: bool = False
    """Whether the assistant was given anything yet, or reasoned: what it says then is not cut off from its reasoning."""
    open_hosted_ids: tuple[str | None, ...] = ()
    """Of the provider's own calls in the assistant's last message, those without a result."""
    has_lost_reasoning: bool = False
    """Whether reasoning was dropped whose outcome the assistant says next."""

    def followed_by(self, messages: Sequence[Message], format: Format, *, has_lost_reasoning: bool = False) -> "Preceding":
        """These messages and more; reasoning at the end of them may have been dropped."""
        if not messages:
            return msgspec.structs.replace(self, has_lost_reasoning=has_lost_reasoning or self.has_lost_reasoning)
        has_begun, ends_with_assistant, hosted_ids = self.has_begun, self.ends_with_assistant, self.open_hosted_ids
        for message in reversed(messages):
            if message.role != "system":
                has_begun, ends_with_assistant = True, message.role == "assistant"
                break
        spoken = next((message for message in reversed(messages) if message.role == "assistant"), None)
        if spoken is not None and format.name in hosted_results.rules:
            has_hosted = any(isinstance(part, ToolCall) and part.is_hosted for part in spoken.parts)
            hosted_ids = tuple(open_hosted_calls(spoken).values()) if has_hosted else ()
        return Preceding(
            has_begun,
            ends_with_assistant,
            ends_in_space=format.name in trailing_space.rules and ends_in_space(messages[-1]),
            has_input=self.has_input or tied_length(messages, format) < len(messages),
            open_hosted_ids=hosted_ids,
            has_lost_reasoning=has_lost_reasoning or (self.has_lost_reasoning and spoken is None),
        )


def with_line_of_user(
    draft: ExchangeDraft, format: Format, before: Preceding, *, is_end: bool, last_index: int
) -> ExchangeDraft:
    """The exchange with a line of the user where the provider does not take it without."""
    if draft.said and not before.has_begun and format.name in first_message.rules:
        words, why = NOT_SHOWN, "added before it: the user must begin"
    elif draft.said and format.calls_follow_user and before.ends_with_assistant and draft.said[0].message.calls:
        words, why = GO_ON, "added before it: a call must follow the user or a result"
    elif is_end and before.ends_in_space and not draft.said and not draft.heard:
        words, why = GO_ON, "added: the assistant's words before it end in white space"
    else:
        return draft
    line = Item(format.read(format.compose("user", (Text(words),)).payloads[0]), None)
    change = Change(draft.said[0].index if draft.said else last_index, f"a line of the user was {why}")
    return draft.changed([change], said=[line, *draft.said]) if draft.said else draft.changed([change], heard=[line])


def with_system_in_place(draft: ExchangeDraft, format: Format, *, has_begun: bool) -> ExchangeDraft:
    """The exchange in which the user says what the system says where it cannot."""
    if all(item.message.role != "system" for item in draft.heard):
        return draft
    heard: list[Item] = []
    changes: list[Change] = []
    for item in draft.heard:
        if not format.is_apart(item.message, has_begun=has_begun or bool(draft.said)):
            heard.append(item)
            continue
        changes.append(Change(item.index, "given to the user: the system does not speak there"))
        message = format.as_user(item.message)
        if message is not None:
            heard.append(Item(message, item.source))
    return draft.changed(changes, heard=heard)
