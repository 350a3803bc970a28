"""Laws that one message can break by itself: the format's `flaws` finds the place, and says what the provider takes there.

That is their repair, too: `corrected` puts it there. A rule of this kind is a sentence here and a `Flaw` in the format.
"""

from collections.abc import Iterator
from functools import partial

from redline.providers.laws.law import Broken, History, Law
from redline.values.payloads import Path


def flaws_of(name: str, history: History) -> Iterator[Broken]:
    """The flaws that break the law of this name, each at the part that holds it; at none for a field of the message itself."""
    places: dict[int, dict[Path, int]] = {}
    for index, flaw in history.flaws:
        if flaw.law != name:
            continue
        if index not in places:  # once for a message: it may have thousands of flaws
            parts = history.messages[index].parts
            places[index] = {part.at: place for place, part in reversed(list(enumerate(parts)))}
        held_in = (flaw.path[:length] for length in range(1, len(flaw.path) + 1 if len(flaw.path) > 1 else 0))
        yield Broken(index, next((places[index][at] for at in held_in if at in places[index]), None), flaw.found)


def _flaw_law(name: str, **rules: str) -> Law:
    return Law(name, rules, partial(flaws_of, name), is_of_flaws=True)


FLAW_LAWS = (
    # Messages and blocks hold only fields that the provider takes: none that a store or an SDK wrote beside them.
    _flaw_law(
        "known_fields",
        anthropic="a message holds role and content; extra inputs are not permitted",
        openai_chat="fields that no server of this API takes (timestamp, id, usage, parsed) are not sent",
        openai_responses="a store's or a parsed response's fields are unknown parameters; ids of items are the provider's",
        gemini="a content holds role and parts; unknown names are refused",
    ),
    # A message is said by a role that the provider knows.
    _flaw_law(
        "known_roles",
        anthropic="the role is user or assistant, or system after the first message",
        openai_chat="the role is system, developer, user, assistant, tool or function",
        openai_responses="the role is user, assistant, system or developer",
        gemini="the role is user or model",
        ai_sdk="the role is system, user, assistant or tool",
    ),
    # Content and blocks have the shape that the provider asks for.
    _flaw_law(
        "block_shapes",
        anthropic="content is a string or a list of blocks with a type; pictures and documents are the user's",
        openai_chat="content is a string or a list of parts, not null in a result; each call has a type and a function",
        openai_responses="content and output are text or parts: output_text from the model, input_text from others",
        gemini="each part must hold data; a functionResponse's response is an object",
        ai_sdk="content is a string (the system's always) or a list of parts with a type",
    ),
    # The input of a call is an object, or for OpenAI the text of one.
    _flaw_law(
        "call_inputs",
        anthropic="tool_use.input must be an object",
        openai_chat="function.arguments must be a string",
        openai_responses="arguments must be a string",
        gemini="functionCall.args must be an object",
    ),
    # Names are there, and have the length and characters that the provider takes.
    _flaw_law(
        "tool_names",
        anthropic="tool_use.name has 1 to 200 characters",
        openai_chat="function.name matches ^[a-zA-Z0-9_-]{1,64}$; a speaker's name has no spaces",
        openai_responses="name matches ^[a-zA-Z0-9_-]{1,128}$",
        gemini="the name of a functionCall or functionResponse cannot be empty",
        ai_sdk="toolName must be a string",
    ),
    # Reasoning carries the signature of the provider that made it.
    _flaw_law(
        "signed_reasoning",
        anthropic="a thinking block needs its signature, redacted_thinking its data",
    ),
    # A result that reports a failure says it in words, and in nothing else.
    _flaw_law(
        "failed_results",
        anthropic="content cannot be empty, and must all be text, if is_error is true",
    ),
)
