import json

import pytest
from hypothesis import HealthCheck, assume, given
from hypothesis import strategies as st

from redline import make_legal, mend_transcript, read_transcript
from redline.errors import TranscriptError, ValidationError
from redline.providers import FORMATS
from tests.agents.mending.sessions import STRATEGIES, actions, as_lines, sound, write
from tests.effort import tries
from tests.repair.damage import damaged

CALL = {"id": "c1", "type": "function", "function": {"name": "ls", "arguments": "{}"}}
HISTORY = [
    {"role": "user", "content": "ls", "x": 1},
    {"role": "assistant", "content": "I look.", "tool_calls": [CALL, CALL | {"id": "c2"}]},
    {"role": "tool", "tool_call_id": "c1", "content": "a.txt"},
    {"role": "user", "content": "go on"},
]

SHAPES = {
    "list": lambda history: json.dumps(history).encode(),
    "indented list": lambda history: json.dumps(history, indent=2).encode(),
    "body": lambda history: json.dumps({"model": "m", "messages": history, "stream": True}, indent=1).encode(),
    "lines": as_lines,
    "lines of bodies": lambda history: as_lines([{"id": "a", "messages": history}, {"id": "b", "messages": history[:1]}]),
}


def messages_in(shape, content):
    match shape:
        case "lines":
            return [json.loads(line) for line in content.splitlines()]
        case "lines of bodies":
            return json.loads(content.splitlines()[0])["messages"]
        case "body":
            return json.loads(content)["messages"]
        case _:
            return json.loads(content)


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("shape", SHAPES)
def test_the_messages_become_what_make_legal_gives(tmp_path, shape, strategy):
    """In every shape that a list of messages is stored in, and with every strategy."""
    mending = sound(write(tmp_path, SHAPES[shape](HISTORY), "messages.json"), strategy)
    assert messages_in(shape, mending.content) == make_legal(HISTORY, strategy=strategy)


def test_places_are_named_as_the_file_has_them(tmp_path):
    """A line by its number, an item of a list by its place, an item in a line by both."""
    assert actions(sound(write(tmp_path, SHAPES["lines"](HISTORY)))) == [("remove", 2), ("remove", 3)]
    assert actions(sound(write(tmp_path, SHAPES["list"](HISTORY), "x.json"))) == [("remove", 1), ("remove", 2)]
    bodies = as_lines([{"messages": HISTORY[:1]}, {"messages": HISTORY}])
    assert [fix.place for fix in sound(write(tmp_path, bodies)).fixes] == ["line 2, message 1", "line 2, message 2"]
    (added,) = sound(write(tmp_path, SHAPES["list"](HISTORY), "x.json"), "answer").fixes
    assert str(added).startswith("+ after message 2: the call 'c2' of ls is answered as interrupted")


def test_a_changed_message_keeps_its_spelling(tmp_path):
    """Numbers, spaces and escapes outside of what changes are as they were."""
    content = b'[{"role":"user","content":"\\u0041"},{"role":"assistant", "n" : 1.50, "content":"x","tool_calls":[%s]}]'
    call = json.dumps(CALL).encode()
    mending = sound(write(tmp_path, content % call, "x.json"), "strip")
    assert mending.content == b'[{"role":"user","content":"\\u0041"},{"role":"assistant", "n" : 1.50, "content":"x"}]'


@pytest.mark.parametrize("end", [b"", b"\n"])
def test_a_message_that_is_alone_in_its_file_is_a_line(tmp_path, end):
    """What is added before it is a line of its own."""
    said = {
        "role": "assistant",
        "content": [{"type": "text", "text": "x"}, {"type": "tool_use", "id": "c", "name": "f", "input": {}}],
    }
    mending = sound(write(tmp_path, json.dumps(said).encode() + end, "x.json"), "strip")
    roles = [json.loads(line)["role"] for line in mending.content.splitlines()]
    assert roles == ["user", "assistant"]


def test_all_can_go(tmp_path):
    """A list of one open call becomes an empty list, lines become none."""
    assert sound(write(tmp_path, json.dumps(HISTORY[1:2]).encode(), "x.json")).content == b"[]"
    assert sound(write(tmp_path, as_lines([HISTORY[1], HISTORY[1]]))).content == b""


def test_messages_that_are_told_in_other_words_are_refused(tmp_path):
    """The runs of the agent data protocol are read as chat but not written so; the error says what can be done."""
    run = {"trajectory": [{"role": "user", "text": "x"}, {"role": "tool", "text": "y"}]}
    with pytest.raises(ValidationError, match="redline export"):
        mend_transcript(write(tmp_path, json.dumps(run).encode(), "x.json"))


@pytest.mark.parametrize("strategy", STRATEGIES)
@tries(50, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data(), format=st.sampled_from(list(FORMATS)), shape=st.sampled_from(list(SHAPES)))
def test_any_history_is_mended(tmp_path, strategy, data, format, shape):
    """Whatever was lost, repeated, moved or bent, in every format: the file becomes legal, and says what `make_legal` gives."""
    history = data.draw(damaged(format))
    path = write(tmp_path, SHAPES[shape](history), "x.json")
    try:
        spoken = {conversation.format for conversation in read_transcript(path)}
    except TranscriptError:
        assume(False)
    assume(spoken == {format})
    mending = mend_transcript(path, strategy=strategy)
    mending.write(tmp_path / "out.json", overwrite=True)
    assert messages_in(shape, mending.content) == make_legal(history, format=format, strategy=strategy)
