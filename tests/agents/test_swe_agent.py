import json

import pytest

from redline import TranscriptError, check
from redline.agents.swe_agent import SweAgent
from redline.agents.transcripts.detect import take_sample
from redline.agents.transcripts.source import Source
from tests.agents.transcripts.counting import counted, said_by
from tests.corpus import corpus_path, corpus_rows, needs_corpus

CALL = {"id": "c1", "type": "function", "function": {"name": "open", "arguments": '{"path":"a.py"}'}}
START = [
    {"role": "system", "content": "You are an agent.", "agent": "main", "message_type": "system_prompt"},
    {"role": "user", "content": [{"type": "text", "text": "Fix it."}], "agent": "main", "message_type": "observation"},
]
NATIVE = [
    *START,
    {
        "role": "assistant",
        "content": "I look.",
        "thought": "I look.",
        "action": "open a.py",
        "agent": "main",
        "tool_calls": [CALL],
    },
    {
        "role": "tool",
        "content": [{"type": "text", "text": "OBSERVATION:\nx", "cache_control": {"type": "ephemeral"}}],
        "agent": "main",
        "tool_call_ids": ["c1"],
        "message_type": "observation",
    },
]
TEXT = [
    {"role": "system", "content": "You are an agent.", "agent": "primary"},
    {"role": "user", "content": "An example.", "agent": "primary", "is_demo": True},
    {"role": "user", "content": "Fix it.", "agent": "primary"},
    {
        "role": "assistant",
        "content": "I look.\n```\nopen a.py\n```",
        "thought": "I look.",
        "action": "open a.py\n",
        "agent": "primary",
    },
    {"role": "user", "content": "x = 1", "agent": "primary"},
    {
        "role": "assistant",
        "content": "Done.\n```\nsubmit\n```",
        "thought": "Done.",
        "action": "submit\n",
        "agent": "primary",
    },
]


def source_of(tmp_path, value):
    path = tmp_path / "run.traj"
    path.write_text(value if isinstance(value, str) else json.dumps(value, indent=1), encoding="utf-8")
    return Source(path)


def read(tmp_path, history):
    return SweAgent().read(source_of(tmp_path, {"trajectory": [], "history": history, "info": {}}))


def natives(conversation):
    return [message.native for message in conversation.messages]


def test_native_calls_are_sent_without_the_agents_notes(tmp_path):
    """A result's list of call ids becomes the one id the provider wants; content lists stay as they are."""
    (conversation,) = read(tmp_path, NATIVE)
    assert natives(conversation) == [
        {"role": "system", "content": "You are an agent."},
        {"role": "user", "content": [{"type": "text", "text": "Fix it."}]},
        {"role": "assistant", "content": "I look.", "tool_calls": [CALL]},
        {"role": "tool", "content": NATIVE[3]["content"], "tool_call_id": "c1"},
    ]
    assert check(natives(conversation), format="openai_chat") == []
    assert all(not entry.text_calls and not entry.text_results for entry in conversation.entries)
    assert conversation.id == "run"


def test_commands_in_text_are_calls_that_the_provider_does_not_see(tmp_path):
    """In older files a command is named by its first word, and the user message after it is its result."""
    (conversation,) = read(tmp_path, TEXT)
    assert [[call.name for call in entry.text_calls] for entry in conversation.entries] == [
        [],
        [],
        [],
        ["open"],
        [],
        ["submit"],
    ]
    assert conversation.entries[3].text_calls[0].arguments == {"command": "open a.py"}
    assert [[result.text for result in entry.text_results] for entry in conversation.entries] == [
        [],
        [],
        [],
        [],
        ["x = 1"],
        [],
    ]
    assert natives(conversation) == [{"role": said["role"], "content": said["content"]} for said in TEXT]


def test_positions_lead_to_the_stored_messages(tmp_path):
    """Each entry is found again in the file."""
    source = source_of(tmp_path, {"trajectory": [{"messages": TEXT}], "history": TEXT})
    (conversation,) = SweAgent().read(source)
    assert [json.loads(source.read(entry.positions[0])) for entry in conversation.entries] == TEXT


def test_a_torn_file_names_line_and_column(tmp_path):
    """A file cut off while it was written cannot be read, and the error says where it ends."""
    with pytest.raises(TranscriptError, match=r"run\.traj is not JSON: .* line \d+, column \d+"):
        SweAgent().read(source_of(tmp_path, '{"trajectory": [],\n "history": [{"role": '))


@pytest.mark.parametrize("history", [None, 7, [], [None, 7]])
def test_a_file_without_messages_has_no_conversation(tmp_path, history):
    """A history that holds nothing said is empty, not an error."""
    assert len(read(tmp_path, history)) == 0


@pytest.mark.parametrize("action", [None, "", 7])
def test_an_assistant_without_a_command_calls_nothing(tmp_path, action):
    """Only an action with words in it is a call."""
    (conversation,) = read(
        tmp_path, [{"role": "assistant", "content": "hm", "action": action}, {"role": "user", "content": "?"}]
    )
    assert [(entry.text_calls, entry.text_results) for entry in conversation.entries] == [((), ())] * 2


@pytest.mark.parametrize("value", [{"history": TEXT}, {"trajectory": []}, [TEXT], {"messages": TEXT}])
def test_other_files_are_not_claimed(tmp_path, value):
    """Only an object with both a trajectory and a history is SWE-agent's."""
    assert not SweAgent().recognizes(take_sample(source_of(tmp_path, value)))


@needs_corpus
@pytest.mark.parametrize("row", corpus_rows("swe-agent"), ids=lambda row: row["path"])
def test_recorded_runs_are_counted_as_the_manifest_does(row):
    """With commands as text the manifest also counts the last observation, which no model was shown any more."""
    source = Source(corpus_path(row))
    transcript = SweAgent().read(source)
    (conversation,) = transcript
    is_text = any(entry.text_calls for entry in conversation.entries)
    found, told = counted(transcript), said_by(row)
    del found["errors"], told["errors"]  # the manifest guesses them from the words
    assert SweAgent().recognizes(take_sample(source))
    assert found["n_tool_results"] + is_text == told.pop("n_tool_results")
    assert {name: found[name] for name in told} == told
    assert check(natives(conversation), format="openai_chat") == []
