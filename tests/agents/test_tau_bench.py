import json

import pytest

from redline import TranscriptError, check
from redline.agents.tau_bench import TauBench
from redline.agents.transcripts.detect import take_sample
from redline.agents.transcripts.source import Source
from tests.agents.transcripts.counting import counted, said_by
from tests.corpus import corpus_path, corpus_rows, needs_corpus

CALL = {"id": "c1", "type": "function", "function": {"name": "find", "arguments": '{"who":"mia"}'}}
TRAJ = [
    {"role": "system", "content": "policy"},
    {"role": "user", "content": "hello"},
    {"content": None, "role": "assistant", "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "c1", "name": "find", "content": "Error: nobody"},
    {"content": "sorry", "role": "assistant"},
]
RUNS = [
    {"task_id": 3, "reward": 0.5, "info": {}, "traj": TRAJ, "trial": 0},
    {"task_id": 3, "reward": 1.0, "info": {"copy": TRAJ}, "traj": TRAJ, "trial": 1},
]


def source_of(tmp_path, value):
    path = tmp_path / "results.json"
    path.write_text(value if isinstance(value, str) else json.dumps(value, indent=1), encoding="utf-8")
    return Source(path)


def test_each_run_is_a_conversation(tmp_path):
    """Runs of one task are told apart by their trial, and keep their reward."""
    transcript = TauBench().read(source_of(tmp_path, RUNS))
    assert [(conversation.id, conversation.metadata["reward"]) for conversation in transcript] == [
        ("3:0", 0.5),
        ("3:1", 1.0),
    ]
    assert counted(transcript) == {
        "n_sessions": 2,
        "n_messages": 10,
        "n_tool_calls": 2,
        "n_tool_results": 2,
        "tools": {"find": 2},
        "errors": 2,
    }


def test_messages_are_the_stored_ones(tmp_path):
    """The payload is the object in the file, found again at its position."""
    source = source_of(tmp_path, RUNS)
    for conversation in TauBench().read(source):
        assert [message.native for message in conversation.messages] == TRAJ
        assert [json.loads(source.read(entry.positions[0])) for entry in conversation.entries] == TRAJ


def test_a_torn_file_names_line_and_column(tmp_path):
    """Where a file is cut off within its first message there is nothing to read, and the error says where it ends."""
    with pytest.raises(TranscriptError, match=r"results\.json is not JSON: .* line \d+, column \d+"):
        TauBench().read(source_of(tmp_path, json.dumps(RUNS, indent=1)[:60]))


def test_of_a_torn_run_the_whole_messages_are_kept(tmp_path):
    """R131: the run in which the file ends keeps what was written before the tear."""
    content = json.dumps([RUNS[0], RUNS[0]])
    (whole, torn) = TauBench().read(source_of(tmp_path, content[:-80]))
    assert 0 < len(torn.entries) < len(whole.entries)
    assert [entry.message for entry in torn.entries] == [entry.message for entry in whole.entries][: len(torn.entries)]


@pytest.mark.parametrize("value", [[], {}, [7], [TRAJ], TRAJ, [{"messages": TRAJ}], [{"task_id": 1}]])
def test_other_files_are_not_claimed(tmp_path, value):
    """Only runs with a task and a trajectory are tau-bench's."""
    assert not TauBench().recognizes(take_sample(source_of(tmp_path, value)))


def test_odd_runs_do_not_hide_the_others(tmp_path):
    """A run without messages is empty, what is no run is passed over."""
    transcript = TauBench().read(source_of(tmp_path, [RUNS[0], 7, {"task_id": 1, "traj": None}, {"traj": [None, TRAJ[1]]}]))
    assert [len(conversation.entries) for conversation in transcript] == [5, 0, 1]


@needs_corpus
@pytest.mark.parametrize("row", corpus_rows("tau-bench"), ids=lambda row: row["path"])
def test_recorded_runs_are_counted_as_the_manifest_does(row):
    """Conversations, messages, calls, results, tools and failures agree, and each conversation is legal."""
    source = Source(corpus_path(row))
    transcript = TauBench().read(source)
    assert TauBench().recognizes(take_sample(source))
    assert counted(transcript) == said_by(row)
    assert [
        check([message.native for message in conversation.messages], format="openai_chat") for conversation in transcript
    ] == [[]] * len(transcript)
