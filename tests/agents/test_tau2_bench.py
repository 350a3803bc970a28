import json

import pytest

from redline import TranscriptError
from redline.agents.tau_bench import Tau2Bench
from redline.agents.transcripts import Usage
from redline.agents.transcripts.detect import take_sample
from redline.agents.transcripts.source import Source
from tests.agents.transcripts.counting import counted, said_by, stored_problems
from tests.corpus import corpus_path, corpus_rows, needs_corpus

INFO = {
    "agent_info": {"implementation": "llm_agent", "llm": "gpt-a"},
    "user_info": {"implementation": "user_simulator", "llm": "gpt-u"},
    "environment_info": {"domain_name": "telecom", "policy": "Be kind."},
}
TOKENS = {"completion_tokens": 3, "prompt_tokens": 20}


def call(call_id, name, by, **arguments):
    return {"id": call_id, "name": name, "arguments": arguments, "requestor": by}


def answer(call_id, content, by, error=False):
    return {"id": call_id, "role": "tool", "content": content, "requestor": by, "error": error}


MESSAGES = [
    {"role": "assistant", "content": "Hi!", "tool_calls": None, "turn_idx": 0, "usage": None},
    {
        "role": "user",
        "content": "No signal.",
        "tool_calls": None,
        "usage": TOKENS,
        "timestamp": "2026-02-04T00:00:01+00:00",
    },
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [call("a1", "find_line", "assistant", number="555")],
        "usage": TOKENS,
    },
    answer("a1", "Error: no such line", "assistant", error=True),
    {"role": "assistant", "content": "Please check your phone.", "tool_calls": None, "usage": TOKENS},
    {"role": "user", "content": None, "tool_calls": [call("u1", "check_status_bar", "user")], "usage": TOKENS},
    answer("u1", "no bars", "user"),
    {
        "role": "user",
        "content": None,
        "tool_calls": [call("u2", "reboot", "user"), call("u3", "look", "user")],
        "usage": TOKENS,
    },
    answer("u2", "failed", "user", error=True),
    answer("u3", "dark", "user"),
    {"role": "user", "content": "No bars.", "tool_calls": None, "usage": TOKENS},
]
RUN = {"id": "sim-1", "task_id": "t", "trial": 0, "termination_reason": "user_stop", "reward_info": {"reward": 1.0}}


def source_of(tmp_path, value):
    path = tmp_path / "results.json"
    path.write_text(value if isinstance(value, str) else json.dumps(value, indent=1), encoding="utf-8")
    return Source(path)


def file_of(*runs):
    return {"timestamp": "now", "info": INFO, "tasks": [], "simulations": list(runs)}


def read(tmp_path, messages):
    return Tau2Bench().read(source_of(tmp_path, file_of({**RUN, "messages": messages})))


def natives(conversation):
    return [message.native for message in conversation.messages]


def test_the_assistant_sees_none_of_the_users_tools(tmp_path):
    """Its conversation goes from its own question to the user's words, and is legal."""
    (conversation,) = read(tmp_path, MESSAGES)
    function = {"name": "find_line", "arguments": '{"number":"555"}'}
    assert natives(conversation) == [
        {"role": "assistant", "content": "Hi!"},
        {"role": "user", "content": "No signal."},
        {"role": "assistant", "content": None, "tool_calls": [{"id": "a1", "type": "function", "function": function}]},
        {"role": "tool", "tool_call_id": "a1", "content": "Error: no such line"},
        {"role": "assistant", "content": "Please check your phone."},
        {"role": "user", "content": "No bars."},
    ]
    assert stored_problems(natives(conversation)) == []


def test_what_the_simulated_user_does_is_a_sub_agent(tmp_path):
    """Its calls are those of a model of its own, and legal too; walking the conversation meets every message once."""
    transcript = read(tmp_path, MESSAGES)
    (conversation,) = transcript
    (user,) = conversation.subagents
    assert [message.role for message in user.messages] == ["assistant", "tool", "assistant", "tool", "tool"]
    assert [entry.model for entry in user.entries] == ["gpt-u", None, "gpt-u", None, None]
    assert stored_problems(natives(user)) == []
    assert counted(transcript) == {
        "n_sessions": 1,
        "n_messages": len(MESSAGES),
        "n_tool_calls": 4,
        "n_tool_results": 4,
        "tools": {"find_line": 1, "check_status_bar": 1, "reboot": 1, "look": 1},
        "errors": 2,
    }


def test_usage_is_that_of_the_conversations_own_requests(tmp_path):
    """The words of the simulated user were paid for in requests that the assistant's conversation does not show."""
    (conversation,) = read(tmp_path, MESSAGES)
    assert [entry.usage for entry in conversation.entries] == [None, None, Usage(20, 3), None, Usage(20, 3), None]
    assert [entry.model for entry in conversation.entries] == ["gpt-a", None, "gpt-a", None, "gpt-a", None]
    assert conversation.entries[1].timestamp_ms == 1770163201000.0


def test_the_policy_is_the_system_prompt(tmp_path):
    """It is written once for all simulations; how a run ended is kept with it."""
    (conversation,) = read(tmp_path, MESSAGES)
    assert (conversation.id, conversation.system) == ("sim-1", "Be kind.")
    assert conversation.metadata == {"task_id": "t", "trial": 0, "termination_reason": "user_stop", "reward": 1.0}


def test_positions_lead_to_the_stored_messages(tmp_path):
    """Each entry is found again in its own simulation, though another one holds the same words."""
    source = source_of(tmp_path, file_of({**RUN, "messages": MESSAGES[:2]}, {**RUN, "messages": MESSAGES[:2]}))
    first, second = Tau2Bench().read(source)
    assert [json.loads(source.read(entry.positions[0])) for entry in second.entries] == MESSAGES[:2]
    assert first.entries[1].positions[0].offset < second.entries[0].positions[0].offset


@pytest.mark.parametrize("messages", [None, 7, [], [None, 7]])
def test_a_simulation_without_messages_is_empty(tmp_path, messages):
    """What is no message is passed over."""
    assert [conversation.entries for conversation in read(tmp_path, messages)] == [()]


def test_odd_fields_do_not_cost_the_messages(tmp_path):
    """A field of an unexpected type is left out, the rest is read."""
    odd = [{"role": "user", "content": "hi", "usage": "free", "timestamp": 7, "tool_calls": "none"}]
    (conversation,) = Tau2Bench().read(source_of(tmp_path, {**file_of({"id": ["odd"], "messages": odd}), "info": 7}))
    assert [message.text for message in conversation.messages] == ["hi"]
    assert conversation.system is None


def test_a_torn_file_names_line_and_column(tmp_path):
    """A file cut off while it was written cannot be read, and the error says where it ends."""
    with pytest.raises(TranscriptError, match=r"is not JSON: .* line \d+, column \d+"):
        Tau2Bench().read(source_of(tmp_path, json.dumps(file_of(), indent=1)[:90]))


@pytest.mark.parametrize("value", [{"simulations": []}, {"tasks": [], "info": {}}, MESSAGES, {"messages": MESSAGES}])
def test_other_files_are_not_claimed(tmp_path, value):
    """Only tasks with their simulations are tau2-bench's."""
    assert not Tau2Bench().recognizes(take_sample(source_of(tmp_path, value)))


@needs_corpus
@pytest.mark.parametrize("row", corpus_rows("tau2-bench"), ids=lambda row: row["path"])
def test_recorded_simulations_are_counted_as_the_manifest_does(row):
    """Conversations, messages, calls, results, tools and failures agree, and each conversation is legal."""
    source = Source(corpus_path(row))
    transcript = Tau2Bench().read(source)
    assert Tau2Bench().recognizes(take_sample(source))
    assert counted(transcript) == said_by(row)
    for conversation in transcript:
        assert stored_problems(natives(conversation)) == []
