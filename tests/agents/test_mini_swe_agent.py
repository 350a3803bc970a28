import json

import pytest

from redline import TranscriptError
from redline.agents.swe_agent import MiniSweAgent
from redline.agents.transcripts import Usage
from redline.agents.transcripts.detect import take_sample
from redline.agents.transcripts.source import Source
from tests.agents.transcripts.counting import counted, said_by
from tests.corpus import corpus_path, corpus_rows, needs_corpus


def said(content, **response):
    usage = {"prompt_tokens": 90, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 40}}
    made = {"id": "gen-1", "created": 1763508981, "model": "gemini", "usage": usage, "choices": [{"message": {}}]}
    return {"role": "assistant", "content": content, "extra": {"response": {**made, **response}}}


ONE = "THOUGHT: look\n\n```bash\nls -F\n```"
SEVERAL = "```bash\nls\n```\nand\n```bash\ncat a\n```"
MESSAGES = [
    {"role": "system", "content": "Answer with ```bash\nyour_command\n```"},
    {"role": "user", "content": "Fix it."},
    said(ONE),
    {"role": "user", "content": "<returncode>0</returncode>\n<output>\na.py\n</output>"},
    said(SEVERAL),
    {"role": "user", "content": "Please always provide EXACTLY ONE action"},
    said("```bash\nfalse\n```"),
    {"role": "user", "content": "<returncode>1</returncode>\n<output>\n</output>"},
]


def source_of(tmp_path, value):
    path = tmp_path / "a__b-1.traj.json"
    path.write_text(value if isinstance(value, str) else json.dumps(value, indent=1), encoding="utf-8")
    return Source(path)


def file_of(messages, **fields):
    return {"info": {}, "messages": messages, "trajectory_format": "mini-swe-agent-1", **fields}


def test_commands_are_calls_and_output_their_results(tmp_path):
    """A message with code blocks makes one call; output with a return code is a result, and an error unless it is 0."""
    (conversation,) = MiniSweAgent().read(source_of(tmp_path, file_of(MESSAGES)))
    calls = [call.arguments["command"] for entry in conversation.entries for call in entry.text_calls]
    results = [(result.name, result.is_error) for entry in conversation.entries for result in entry.text_results]
    assert calls == ["ls -F", "ls\ncat a", "false"]
    assert results == [("bash", False), ("bash", True)]


def test_messages_are_sent_without_the_raw_response(tmp_path):
    """Role and content go to the model; what the provider answered is the agent's own note."""
    (conversation,) = MiniSweAgent().read(source_of(tmp_path, file_of(MESSAGES)))
    sent = [{"role": message["role"], "content": message["content"]} for message in MESSAGES]
    assert [message.native for message in conversation.messages] == sent


def test_the_raw_response_tells_time_model_and_tokens(tmp_path):
    """They are those of the request that made the message."""
    (conversation,) = MiniSweAgent().read(source_of(tmp_path, file_of(MESSAGES)))
    made, answered = conversation.entries[2], conversation.entries[3]
    assert (made.id, made.model, made.timestamp_ms) == ("gen-1", "gemini", 1763508981000.0)
    assert made.usage == Usage(50, 5, 40)
    assert (answered.model, answered.timestamp_ms, answered.usage) == (None, None, None)


def test_native_calls_are_not_counted_twice(tmp_path):
    """A message with calls of its own makes none in its text."""
    call = {"id": "c", "type": "function", "function": {"name": "bash", "arguments": "{}"}}
    (conversation,) = MiniSweAgent().read(source_of(tmp_path, file_of([{**said(ONE), "tool_calls": [call]}])))
    assert (len(conversation.messages[0].calls), conversation.entries[0].text_calls) == (1, ())


@pytest.mark.parametrize(("fields", "name"), [({"instance_id": "x-1"}, "x-1"), ({}, "a__b-1"), ({"instance_id": 7}, "a__b-1")])
def test_the_conversation_is_named_by_its_instance(tmp_path, fields, name):
    """Without one it is named by the file."""
    (conversation,) = MiniSweAgent().read(source_of(tmp_path, file_of(MESSAGES, **fields)))
    assert conversation.id == name


@pytest.mark.parametrize("extra", [None, 7, {}, {"response": None}, {"response": {"usage": "odd", "model": "m"}}])
def test_odd_extras_are_tolerated(tmp_path, extra):
    """Whatever is beside the message, the message is read."""
    (conversation,) = MiniSweAgent().read(source_of(tmp_path, file_of([{"role": "assistant", "content": ONE, "extra": extra}])))
    assert conversation.messages[0].native == {"role": "assistant", "content": ONE}
    assert conversation.entries[0].usage is None


def test_words_that_are_no_valid_unicode_are_read(tmp_path):
    """A lone surrogate in one message does not cost the file."""
    (conversation,) = MiniSweAgent().read(source_of(tmp_path, file_of([{"role": "user", "content": "a\ud800b"}, said(ONE)])))
    assert [message.text for message in conversation.messages] == ["a\ud800b", ONE]
    assert conversation.entries[1].usage is not None


def test_a_torn_file_names_line_and_column(tmp_path):
    """A file cut off while it was written cannot be read, and the error says where it ends."""
    with pytest.raises(TranscriptError, match=r"is not JSON: .* line \d+, column \d+"):
        MiniSweAgent().read(source_of(tmp_path, json.dumps(file_of(MESSAGES), indent=1)[:90]))


@pytest.mark.parametrize("value", [{"messages": MESSAGES}, {"trajectory_format": "other", "messages": []}, MESSAGES])
def test_other_files_are_not_claimed(tmp_path, value):
    """Only a file that names the format is mini-swe-agent's."""
    assert not MiniSweAgent().recognizes(take_sample(source_of(tmp_path, value)))


@needs_corpus
@pytest.mark.parametrize("row", corpus_rows("mini-swe-agent"), ids=lambda row: row["path"])
def test_recorded_runs_are_counted_as_the_manifest_does(row):
    """All counts agree; the manifest calls the one tool `bash(markdown)`."""
    source = Source(corpus_path(row))
    found, told = counted(MiniSweAgent().read(source)), said_by(row)
    assert MiniSweAgent().recognizes(take_sample(source))
    assert {**found, "tools": {f"{name}(markdown)": count for name, count in found["tools"].items()}} == told
