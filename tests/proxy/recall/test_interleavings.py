"""The model asks for what was struck, in all ways in which an answer can hold such a call: clients see one answer, no trace.

Each scene is what the model says, request for request of the provider, once its first result was struck.
"""

import json
from dataclasses import replace

import pytest

from redline.providers import FORMATS
from redline.providers.usage import read_usage
from redline.testing import says
from redline.values.messages import Reasoning, Text, ToolCall
from tests.proxy.recall.sdk_talk import BEGAN, TOOL, output_of, recalling, tools_in

FORMS = [
    (name, is_streamed) for name in ("anthropic", "openai_chat", "openai_responses", "gemini") for is_streamed in (True, False)
]
_numbers = iter(range(1000, 100_000))


def turn(*parts):
    return "assistant", parts


def recalls(reference="#FIRST", **arguments):
    """A call of the tool. `#FIRST` stands for the reference that the placeholder names."""
    given = {"reference": reference, **arguments} if reference else arguments
    return ToolCall(f"r{next(_numbers)}", TOOL, given)


def runs(command):
    return ToolCall(f"k{next(_numbers)}", "Bash", {"command": command})


def thinks(text):
    return Reasoning(text)


LOOK, FOUND = Text("Let me look."), Text("It says number c1.")

SCENES = {
    "alone": [turn(recalls()), turn(FOUND)],
    "after-words": [turn(LOOK, recalls()), turn(FOUND)],
    "twice-in-a-row": [turn(recalls()), turn(recalls(lines="1-2")), turn(FOUND)],
    "words-each-time": [turn(LOOK, recalls()), turn(Text("Once more."), recalls(grep="line 19")), turn(FOUND)],
    "two-at-once": [turn(recalls(lines="1"), recalls(lines="2")), turn(FOUND)],
    "before-a-call": [turn(recalls(), runs("ls"))],
    "after-a-call": [turn(runs("ls"), recalls())],
    "between-calls": [turn(LOOK, runs("ls"), recalls(), runs("pwd"))],
    "around-a-call": [turn(recalls(lines="1"), runs("ls"), recalls(lines="2"))],
    "then-a-call": [turn(recalls()), turn(runs("ls"))],
    "then-words-and-calls": [turn(LOOK, recalls()), turn(FOUND, runs("ls"), runs("pwd"))],
    "hidden-then-beside-a-call": [turn(LOOK, recalls()), turn(Text("And this."), recalls(lines="3"), runs("ls"))],
    "thinking": [turn(thinks("hm"), recalls()), turn(thinks("so"), FOUND)],
    "thinking-and-words": [turn(thinks("hm"), LOOK, recalls()), turn(thinks("so"), FOUND)],
    "thinking-then-a-call": [turn(thinks("hm"), LOOK, recalls()), turn(thinks("so"), runs("ls"))],
    "thinking-beside-a-call": [turn(thinks("hm"), recalls(), runs("ls"))],
    "thinking-thrice": [
        turn(thinks("a"), recalls()),
        turn(thinks("b"), recalls(lines="2")),
        turn(thinks("c"), LOOK, runs("ls")),
    ],
    "no-words-after": [turn(LOOK, recalls()), turn(Text("."))],
    "a-search": [turn(recalls("", search="output number c1")), turn(FOUND)],
    "a-pattern": [turn(recalls(grep="number c\\d")), turn(FOUND)],
    "a-wrong-reference": [turn(recalls("#999.0")), turn(Text("It is gone."))],
    "no-arguments": [turn(recalls("")), turn(Text("I do not know."))],
    "eight-in-a-row": [*(turn(recalls(lines=str(number))) for number in range(1, 9)), turn(FOUND)],
    "long-words": [turn(Text("word " * 300), recalls()), turn(Text("answer " * 300), runs("ls"))],
}


def with_reference(parts):
    """The parts, worked out from what the model was sent: it copies the reference of the first placeholder."""

    def reply(messages):
        text = "\n".join(result.text for message in messages for result in message.results)
        found = text.partition('redline_recall(reference="')[2].partition('"')[0]
        return "assistant", tuple(
            ToolCall(part.id, part.name, {name: held.replace("#FIRST", found) for name, held in part.input.items()})
            if isinstance(part, ToolCall)
            else part
            for part in parts
        )

    return reply


def words_of(turns):
    said = [part for _, parts in turns for part in parts]
    return [part.text for part in said if isinstance(part, Text)], [part for part in said if isinstance(part, ToolCall)]


@pytest.fixture(scope="module", params=FORMS, ids=lambda one: f"{one[0]}-{'stream' if one[1] else 'whole'}")
def place(request, tmp_path_factory):
    """A provider and a proxy for all scenes of an API, and how clients ask there."""
    format, is_streamed = request.param
    with recalling(tmp_path_factory.mktemp("recall"), [], format, is_streamed=is_streamed) as (talk, provider, running):
        yield talk, provider, running


@pytest.mark.parametrize("scene", SCENES)
def test_the_client_sees_one_answer_and_no_trace(scene, place):
    """What the SDK parses has all words and all calls of the client's, the usage of all turns, and nothing of the tool; the
    next requests bring back what the model was told."""
    turns, (talk, provider, running) = SCENES[scene], place
    before = running.status()["totals"]
    talk, format = replace(talk, history=[]), talk.format
    provider.exchanges.clear()
    replies = [with_reference(parts) for _, parts in turns]
    provider.replies = [*BEGAN, *replies, says("assistant", "And on."), says("assistant", "The end.")]
    talk.answer(talk.say(f"Go: {scene}.").calls)
    shown = talk.answer([ToolCall("c2", "Bash", {})])
    texts, calls = words_of(turns)
    own = [call for call in calls if call.name == TOOL]
    assert provider.statuses == [200] * (2 + len(turns)), provider.exchanges[-1].answer
    assert TOOL.encode() not in shown.raw
    assert "".join(shown.text.split()) == "".join("".join(texts).split())
    asked = [call.input["command"] for call in calls if call.name != TOOL]
    assert [call.arguments["command"] for call in shown.calls] == asked
    inner = [read_usage(exchange.answer) for exchange in provider.exchanges[2:]]
    for name in ("input_tokens", "output_tokens", "cache_read_tokens"):
        assert getattr(shown.usage, name) == sum(getattr(one, name) for one in inner), name

    onward = talk.answer(shown.calls) if shown.calls else talk.say("Go on.")
    assert onward.text == "And on."
    assert talk.say("Go on again.").text == "The end."
    assert TOOL not in json.dumps(talk.history)
    assert provider.statuses == [200] * (4 + len(turns)), provider.exchanges[-1].answer
    assert all(TOOL in tools_in(exchange.body) for exchange in provider.exchanges)
    check_past(format, provider, turns, own)
    totals = running.settled(before["requests"] + 4 + len(turns))["totals"]
    assert totals["recalls"] - before["recalls"] == len(own)
    answered = sum(read_usage(one.answer).output_tokens for one in provider.exchanges)
    assert totals["output_tokens"] - before["output_tokens"] == answered


def check_past(format, provider, turns, own):
    """Each request begins as the one before it, but for what is struck; each call of the tool has its answer in the last."""
    reader = FORMATS[format]
    messages = reader.read_request(provider.exchanges[-1].body)
    said = [part for message in messages for part in message.parts]
    calls = [part for part in said if isinstance(part, ToolCall) and part.name == TOOL]
    assert len(calls) == len(own)
    results = {result.call_id: result.text for message in messages for result in message.results}
    names = [result for message in messages for result in message.results if result.name == TOOL]
    for number, call in enumerate(calls):
        text = names[number].text if format == "gemini" else results[call.id]
        assert text
        if call.arguments.get("reference", "#999.0") != "#999.0" and not call.arguments.keys() - {"reference"}:
            assert text == output_of("c1") or format == "gemini"
    order = [part.name for part in said if isinstance(part, ToolCall)]
    assert order == ["Bash", "Bash", *(part.name for _, parts in turns for part in parts if isinstance(part, ToolCall))]
