import json

import pytest

from redline.agents.openhands import OpenHands
from redline.agents.transcripts import Usage
from redline.agents.transcripts.detect import take_sample
from redline.agents.transcripts.source import Source
from tests.agents.transcripts.counting import counted, said_by, stored_problems
from tests.corpus import corpus_path, corpus_rows, needs_corpus


def response(name, *calls, content="I look."):
    made = [
        {"index": 1, "id": call_id, "type": "function", "function": {"name": tool, "arguments": '{"command": "ls"}'}}
        for call_id, tool in calls
    ]
    usage = {"prompt_tokens": 50, "completion_tokens": 4, "prompt_tokens_details": {"cached_tokens": 30}}
    message = {"role": "assistant", "content": content, "tool_calls": made}
    return {"id": name, "created": 1, "model": "llama", "choices": [{"message": message}], "usage": usage}


def metadata(tool, call_id, answer):
    return {"function_name": tool, "tool_call_id": call_id, "model_response": answer, "total_calls_in_response": 1}


def action(number, kind, source="agent", call=None, **args):
    event = {"id": number, "timestamp": "2026-02-04T00:00:01+00:00", "source": source, "message": "m", "action": kind}
    return {**event, "args": args, **({"tool_call_metadata": call} if call else {})}


def observation(number, kind, content, call=None, **fields):
    event = {
        "id": number,
        "timestamp": "2026-02-04T00:00:02+00:00",
        "source": "agent",
        "observation": kind,
        "content": content,
    }
    return {**event, "extras": {}, **fields, **({"tool_call_metadata": call} if call else {})}


START = [
    action(0, "system", content="You are an agent.", tools=[]),
    action(1, "message", source="user", content="Fix it.", image_urls=None),
    action(2, "recall", source="user", query="Fix it."),
    observation(3, "recall", "Added workspace context", cause=2),
]


def read(tmp_path, *histories, tail=""):
    path = tmp_path / "output.jsonl"
    runs = [{"instance_id": f"run-{number}", "history": history, "error": None} for number, history in enumerate(histories)]
    path.write_text("".join(json.dumps(run) + "\n" for run in runs) + tail, encoding="utf-8")
    return OpenHands().read(Source(path))


def natives(conversation):
    return [message.native for message in conversation.messages]


def test_actions_and_observations_become_calls_and_results(tmp_path):
    """A run is sent as system, user, assistant with the model's own words and arguments, and the tool's answer."""
    call = metadata("execute_bash", "c1", response("r1", ("c1", "execute_bash")))
    history = [*START, action(4, "run", call=call, command="ls"), observation(5, "run", "a.c", call=call, success=True)]
    (conversation,) = read(tmp_path, history)
    function = {"name": "execute_bash", "arguments": '{"command": "ls"}'}
    assert natives(conversation) == [
        {"role": "system", "content": "You are an agent."},
        {"role": "user", "content": "Fix it."},
        {
            "role": "assistant",
            "content": "I look.",
            "tool_calls": [{"id": "c1", "type": "function", "function": function}],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "a.c"},
    ]
    asked = conversation.entries[2]
    assert (asked.id, asked.model, asked.usage) == ("r1", "llama", Usage(20, 4, 30))
    assert asked.timestamp_ms == 1770163201000.0
    assert conversation.id == "run-0"


def test_calls_of_one_response_are_one_message(tmp_path):
    """Calls are carried out one after the other but were said at once, before the first result."""
    answer = response("r1", ("c1", "execute_bash"), ("c2", "think"))
    first, second = metadata("execute_bash", "c1", answer), metadata("think", "c2", answer)
    history = [
        *START,
        action(4, "run", call=first, command="ls"),
        observation(5, "run", "a.c", call=first),
        action(6, "think", call=second, thought="hm"),
        observation(7, "think", "logged", call=second),
    ]
    (conversation,) = read(tmp_path, history)
    assert [message.role for message in conversation.messages] == ["system", "user", "assistant", "tool", "tool"]
    assert [call.id for call in conversation.messages[2].calls] == ["c1", "c2"]
    assert len(conversation.entries[2].positions) == 2
    assert stored_problems(natives(conversation)) == []


def test_a_finish_is_text(tmp_path):
    """The call that ends a run is never answered, so it is shown as what was said with it."""
    call = metadata("finish", "c1", response("r1", ("c1", "finish"), content="All done."))
    silent = metadata("finish", "c2", response("r2", ("c2", "finish"), content=""))
    history = [*START, action(4, "finish", call=call), action(5, "finish", call=silent, final_thought="Really done.")]
    (conversation,) = read(tmp_path, history)
    assert natives(conversation)[2:] == [
        {"role": "assistant", "content": "All done."},
        {"role": "assistant", "content": "Really done."},
    ]


def test_a_call_is_rebuilt_where_the_response_is_missing(tmp_path):
    """Without the model's response the arguments are those of the action, its thought the words."""
    call = {"function_name": "execute_bash", "tool_call_id": "c1", "model_response": None}
    history = [action(4, "run", call=call, command="ls", thought="look"), observation(5, "run", "a", call=call)]
    (conversation,) = read(tmp_path, history)
    asked = conversation.messages[0]
    assert (asked.text, asked.calls[0].name, asked.calls[0].arguments) == ("look", "execute_bash", {"command": "ls"})


def test_failures_are_told(tmp_path):
    """A command that failed is an error, with the exit code the file keeps beside the output."""
    call = metadata("execute_bash", "c1", response("r1", ("c1", "execute_bash")))
    extras = {"metadata": {"exit_code": 2, "prefix": "", "suffix": "\n[exit code 2]"}}
    history = [action(4, "run", call=call), observation(5, "run", "no", call=call, success=False, extras=extras)]
    (result,) = read(tmp_path, history).conversations[0].messages[1].results
    assert (result.is_error, result.text) == (True, "no\n[exit code 2]")


def test_a_complaint_without_a_call_is_a_user_message(tmp_path):
    """What the agent could not make a call of has no call to answer; the model is told as by a user."""
    (conversation,) = read(tmp_path, [observation(5, "error", "bad parameter")])
    assert natives(conversation) == [{"role": "user", "content": "bad parameter"}]


def test_recalled_context_is_an_attachment(tmp_path):
    """What the agent recalls is shown in words that the file does not hold."""
    (conversation,) = read(tmp_path, START)
    assert [attachment.kind for attachment in conversation.attachments] == ["recall"]
    assert len(conversation.entries) == 2


def test_pictures_of_the_user_are_kept(tmp_path):
    """Pictures are beside the text of a message."""
    (conversation,) = read(tmp_path, [action(1, "message", source="user", content="see", image_urls=["https://x/a.png"])])
    assert [type(part).__name__ for part in conversation.messages[0].parts] == ["Text", "Media"]


def test_positions_lead_to_the_events(tmp_path):
    """Each entry is found again in the file, in whichever line it is."""
    transcript = read(tmp_path, START, START)
    source = Source(transcript.path)
    stored = [json.loads(source.read(entry.positions[0])) for conversation in transcript for entry in conversation.entries]
    assert stored == [*START[:2], *START[:2]]
    assert [conversation.entries[0].positions[0].line for conversation in transcript] == [1, 2]


def test_a_bad_line_is_listed_and_the_rest_is_read(tmp_path):
    """A torn line costs its own run only."""
    transcript = read(tmp_path, START, tail='{"instance_id": "torn", "hist\n[1]\n')
    assert len(transcript) == 1
    assert [problem.line for problem in transcript.problems] == [2, 3]
    assert "not JSON" in transcript.problems[0].reason


@pytest.mark.parametrize("history", [None, "text", 7, [], [None, 7, {"odd": 1}, {"action": 5, "observation": None}]])
def test_odd_histories_are_tolerated(tmp_path, history):
    """A run whose history is no list of events is a conversation without messages."""
    assert [conversation.entries for conversation in read(tmp_path, history)] == [()]


@pytest.mark.parametrize(
    "record", [{"history": START}, {"instance_id": "a", "history": []}, {"instance_id": "a", "messages": []}]
)
def test_other_files_are_not_claimed(tmp_path, record):
    """Only lines with an instance and events are OpenHands'."""
    path = tmp_path / "other.jsonl"
    path.write_text(json.dumps(record) + "\n", encoding="utf-8")
    assert not OpenHands().recognizes(take_sample(Source(path)))


@needs_corpus
@pytest.mark.parametrize("row", corpus_rows("openhands"), ids=lambda row: row["path"])
def test_recorded_runs_are_counted_as_the_manifest_does(row):
    """The manifest counts events: recalled context (action and observation) and complaints as results too."""
    source = Source(corpus_path(row))
    transcript = OpenHands().read(source)
    recalled = sum(len(conversation.attachments) for conversation in transcript)
    complaints = [
        entry
        for conversation in transcript
        for entry in conversation.entries
        if source.decode(entry.positions[0]).get("observation") == "error"
    ]
    found, told = counted(transcript), said_by(row)
    assert OpenHands().recognizes(take_sample(source))
    assert found["n_messages"] + 2 * recalled == told.pop("n_messages")
    assert found["n_tool_results"] + recalled + len(complaints) == told.pop("n_tool_results")
    assert found["errors"] + len(complaints) == told.pop("errors")
    assert {name: found[name] for name in told} == told
    assert [stored_problems(natives(conversation)) for conversation in transcript] == [[]] * len(transcript)
