"""Whether bytes that need no change arrive as the client wrote them: `python -m tests.measure_bytes`.

Bodies of the four APIs, generated in spellings that nobody uses (odd spacing, key order, escapes, keys twice, unknown
fields) and made of the recorded sessions beside the project, pass through a `WireEditor` with the default policy. Counted are
those that came out as the very bytes, those with strikes or repairs, and those that are wrong.
"""

import json
from collections import Counter
from collections.abc import Iterator
from random import Random
from typing import Any

import click

from redline import EN, Editor, Policy, check
from redline.agents.readers import read_transcript
from redline.providers.apis import APIS
from redline.testing import asks, conversation, says
from redline.transport.editing import Call, WireEditor
from tests.corpus import corpus_path, corpus_rows
from tests.transport.spelled import spell

GENERATED = 10_000
PATHS = {
    "anthropic": ("/v1/messages", "messages"),
    "openai_chat": ("/v1/chat/completions", "messages"),
    "openai_responses": ("/v1/responses", "input"),
    "gemini": ("/v1beta/models/gemini-2.5-pro:streamGenerateContent", "contents"),
}
WORDS = ("é", "😀", "\\", '"', "\n", "\t", "a b", "\u2028", "</s>", "ﬀ", "0.10", "null", "\u0000")


def main() -> None:
    """Print what became of both kinds of bodies."""
    click.echo(f"{GENERATED:,} generated bodies: {counted(generated(GENERATED))}")
    click.echo(f"recorded sessions: {counted(recorded())}")


def counted(calls: Iterator[tuple[Call, str, list[Any]]]) -> str:
    """What became of each."""
    wire, found = WireEditor(Editor(policy=Policy(words=EN))), Counter[str]()
    for call, format, messages in calls:
        found[judged(wire, call, format, messages)] += 1
    return ", ".join(f"{count:,} {what}" for what, count in sorted(found.items()))


def judged(wire: WireEditor, call: Call, format: str, messages: list[Any]) -> str:
    """What became of one body."""
    edited = wire.edit(call)
    request = edited.request
    if request is None:
        return f"not looked at ({edited.untouched})" if edited.body is call.body else "WRONG"
    if not request.strikes and not request.repairs:
        return "the very bytes" if edited.body is call.body else "WRONG"
    if request.repairs and not request.strikes and not check(messages, format=format):
        return f"WRONG: a legal body was repaired ({request.repairs[0].what})"
    sent, given = json.loads(edited.body, strict=False), json.loads(call.body, strict=False)
    field = PATHS[format][1]
    is_same_around = {**sent, field: 0} == {**given, field: 0}
    return "struck or repaired, the rest unchanged" if is_same_around else "WRONG"


def generated(count: int) -> Iterator[tuple[Call, str, list[Any]]]:
    """Bodies in odd spellings, of short conversations that may be broken off."""
    for seed in range(count):
        random = Random(seed)
        format = random.choice(list(PATHS))
        turns = [says("user", f"Begin {seed} {random.choice(WORDS)}")]
        for number in range(random.randint(0, 6)):
            words = "".join(random.choices(WORDS, k=5))
            kind = random.choice(("Bash", "Read", "mcp__x__y"))
            turns += asks(kind, {"command": words, "file_path": "/a", "cache_control": 1}, words, id=f"call_{seed}_{number}")
        messages = conversation(format, turns)
        path, field = PATHS[format]
        body = {
            "model": "claude-sonnet-4-5",
            field: messages,
            "stream": True,
            "metadata": {"messages": [1], "user_id": random.choice(WORDS)},
            "unknown_field": [{"a": 1.10}, None, {}],
            "tools": [],
        }
        yield Call("POST", path, {"x-api-key": "k"}, spell(body, random).encode()), format, messages


def recorded() -> Iterator[tuple[Call, str, list[Any]]]:
    """A body for each recorded conversation, as long as it was at its end."""
    known = {api.name for api in APIS}
    for row in corpus_rows():
        for one in read_transcript(corpus_path(row)).conversations:
            if one.format in known and one.windows and one.windows[-1]:
                messages = [_decoded(entry.message.native) for entry in one.windows[-1]]
                path, field = PATHS[one.format]
                raw = json.dumps({"model": "m", field: messages}, ensure_ascii=False).encode("utf-8", "surrogatepass")
                yield Call("POST", path, {"x-api-key": "k"}, raw), one.format, messages


def _decoded(native: Any) -> Any:
    return json.loads(native) if isinstance(native, bytes) else native


if __name__ == "__main__":
    main()
