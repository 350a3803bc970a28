import pytest
from hypothesis import given
from hypothesis import strategies as st

import redline
from redline import Conversation, Editor, Policy, read_transcript
from redline.agents.transcripts import Transcript
from redline.errors import LogError
from redline.record.reading import read_log_file
from redline.sessions.replay.history import histories_in, history_of_log, with_subagents
from redline.sessions.replay.paid import paid_in_log
from redline.testing import asks, conversation, conversations, says
from redline.values import payloads
from redline.values.messages import Text
from tests.cli.sample import write_session
from tests.corpus import corpus_path, corpus_rows, needs_corpus
from tests.effort import tries
from tests.sessions.replay.recorded import Usage, recorded, recorded_conversation, step

TURNS = [("user", (Text("go"),)), *step(0, "Bash", {"command": "ls"}, "a.py " * 50), ("assistant", (Text("done"),))]
MODEL = "claude-opus-4-6"


def test_a_request_goes_out_before_each_answer():
    """Each thing the assistant says answers a request with all that was said before, at the time of its last message."""
    history = recorded(TURNS)
    assert [(one.visible, one.end, one.time_ms) for one in history.requests] == [(((0, 1),), 1, 1000.0), (((0, 3),), 3, 3000.0)]
    assert [list(history.answers_to(request)) for request in history.requests] == [[1], [3]]


def test_time_never_goes_back():
    """Where an agent's clock does, a request is made no earlier than the one before it."""
    times = [1000.0, 1500.0, 400.0, 2000.0]
    assert [one.time_ms for one in recorded(TURNS, every_ms=times.__getitem__).requests] == [1000.0, 1000.0]


def test_a_compaction_starts_a_new_window():
    """What follows it is sent without what came before."""
    turns = [*TURNS, ("user", (Text("summary"),)), ("assistant", (Text("ok"),))]
    history = recorded(turns, compact_before=[4])
    assert [(one.visible, one.is_new_view) for one in history.requests] == [
        (((0, 1),), True),
        (((0, 3),), False),
        (((4, 5),), True),
    ]
    assert [list(history.new_in(request)) for request in history.requests] == [[0], [1, 2], [4]]


def test_what_the_agent_wrote_itself_was_no_request():
    """A message that no model said answers nothing."""
    assert recorded(TURNS, model="<synthetic>") is None


def test_an_answer_in_several_messages_answers_one_request():
    """Its usage is that of whichever of them has one."""
    turns = [("user", (Text("go"),)), ("assistant", (Text("well"),)), ("assistant", (Text("done"),))]
    [request] = recorded(turns, usages=[None, Usage(700, 5)]).requests
    assert (request.end, request.usage) == (1, Usage(700, 5))


def test_each_request_has_the_model_that_answered_it():
    """The model of the history is the one that most requests went to, whatever their order."""
    turns = [("user", (Text("go"),)), *step(0, "Bash", {"command": "ls"}, "a"), *step(1, "Bash", {"command": "ls"}, "b")]
    told = recorded_conversation([*turns, ("assistant", (Text("done"),))])
    models = iter(["model-a", "model-b", "model-b"])
    entries = [
        entry if entry.message.role != "assistant" else type(entry)(entry.load, (), entry.timestamp_ms, model=next(models))
        for entry in told.entries
    ]
    told = type(told)("c", "anthropic", tuple(entries))
    [history] = histories_in(Transcript(None, "test", (told,)))
    assert [request.model for request in history.requests] == ["model-a", "model-b", "model-b"]
    assert (history.model, history.models) == ("model-b", {1: "model-a", 3: "model-b", 5: "model-b"})


def test_sub_agents_follow_their_parent():
    """They are told apart from it; one in which no model was asked is left out."""
    silent, inner = recorded_conversation(TURNS[:1]), recorded_conversation(TURNS)
    parent = recorded_conversation(TURNS, subagents=(inner, silent))
    found = list(histories_in(Transcript(None, "test", (parent,))))
    assert [history.is_subagent for history in found] == [False, True]


def test_a_session_file_gives_its_history(tmp_path):
    """With agent, requests, and what the provider reported."""
    [history] = histories_in(read_transcript(write_session(tmp_path / "s.jsonl")))
    assert (history.agent, history.is_log, len(history.requests)) == ("claude-code", False, 4)
    assert [request.usage for request in history.requests] == [Usage(3, 7, 900)] * 4


@needs_corpus
def test_requests_of_recorded_sessions_are_before_each_answer():
    """One for each thing the assistant said without a break, in every file of every agent; windows are those of the file."""
    for row in corpus_rows():
        transcript = read_transcript(corpus_path(row))
        for one in with_subagents(transcript.conversations):
            entries, starts = one.entries, {compaction.before for compaction in one.compactions}
            wanted, start = [], 0
            for index, entry in enumerate(entries):
                start = index if index in starts else start
                is_answer = entry.message.role == "assistant" and entry.model != "<synthetic>"
                if is_answer and index > start and entries[index - 1].message.role != "assistant":
                    wanted.append(((start, index),))
            alone = type(one)(one.id, one.format, entries, compactions=one.compactions)
            found = [request for history in histories_in(Transcript(None, "t", (alone,))) for request in history.requests]
            assert [request.visible for request in found] == wanted


# --- logs of Redline's own


def told(path, native, *, policy=None, usages=None):
    """A conversation led to its end, a request before each answer, with a report for each; the requests."""
    made, usages = [], iter(usages or ())
    with Conversation(log=path, policy=policy or Policy(schedule="eager"), model=MODEL) as talk:
        for number, payload in enumerate(native):
            if payload["role"] == "assistant":
                made.append(talk.request(now=1_000.0 * number))
            talk.add(payload, timestamp_ms=1_000.0 * number)
            if payload["role"] == "assistant" and (usage := next(usages, None)) is not None:
                talk.record_usage(usage)
    return made


READS = [
    says("user", "go"),
    *(turn for number in range(8) for turn in asks("Read", {"file_path": "/p/a.py"}, "print(1)\n" * 50, id=f"t{number}")),
    says("assistant", "done"),
]


@pytest.mark.parametrize("schedule", ["eager", "when_free"])
def test_a_log_has_the_requests_that_were_made(tmp_path, schedule):
    """Also those of which a schedule keeps no record: one before each answer, with what was visible and struck in it."""
    policy = Policy(rules=["historical_reads"], schedule=schedule)
    reports = [{"input_tokens": 1_000 + number, "output_tokens": 1} for number in range(9)]
    made = told(tmp_path / "c.jsonl", conversation("anthropic", READS), policy=policy, usages=reports)
    history = history_of_log(read_log_file(tmp_path / "c.jsonl"))
    assert history.is_log
    assert [request.usage.input_tokens for request in history.requests] == [1_000 + number for number in range(9)]
    assert [request.model for request in history.requests] == [MODEL] * 9
    for request, live in zip(history.requests, made, strict=True):
        strikes = [strike.number for strike in history.strikes if strike.is_in_force(request.number)]
        assert strikes == [strike.number for strike in live.strikes]
        assert [strike.number for strike in history.strikes if strike.first == request.number] == [
            strike.number for strike in live.new_strikes
        ]
    assert schedule != "eager" or history.strikes


def test_usage_of_an_answer_in_several_items_belongs_to_its_request(tmp_path):
    """OpenAI's Responses give an answer in several items; what was reported after them is not that of the next request."""
    answer = [
        {"type": "reasoning", "id": "rs_1", "summary": []},
        {"type": "message", "role": "assistant", "id": "m_1", "content": [{"type": "output_text", "text": "I look."}]},
        {"type": "function_call", "id": "fc_1", "call_id": "c_1", "name": "read", "arguments": "{}"},
    ]
    with Conversation(log=tmp_path / "c.jsonl", format="openai_responses", model="gpt-5.1") as talk:
        talk.add({"role": "user", "content": "go"})
        talk.request(now=1.0)
        for item in answer:
            talk.add(item)
        talk.record_usage({"input_tokens": 700, "output_tokens": 5})
        talk.add({"type": "function_call_output", "call_id": "c_1", "output": "text"})
        talk.request(now=2.0)
        talk.add({"type": "message", "role": "assistant", "id": "m_2", "content": [{"type": "output_text", "text": "Done."}]})
        talk.record_usage({"input_tokens": 800, "output_tokens": 5})
    requests = history_of_log(read_log_file(tmp_path / "c.jsonl")).requests
    assert [request.usage.input_tokens for request in requests] == [700, 800]


def test_strikes_end_when_they_are_undone_pinned_or_lifted(tmp_path):
    """Each says why, and from which request on its part is sent again."""
    policy = Policy(rules=["historical_reads"], schedule="eager")
    with Conversation(log=tmp_path / "c.jsonl", policy=policy, model=MODEL) as talk:
        *said, answer = conversation("anthropic", READS)
        for number, payload in enumerate(said):
            talk.add(payload, timestamp_ms=1_000.0 * number)
        first, second, third = talk.request(now=20_000.0).new_strikes
        talk.undo(first.number)
        talk.pin(second.index)
        talk.add(answer)
        talk.process({"operation": "truncate", "truncate": {"remove_last": 5}})
        talk.add({"role": "user", "content": "and now?"})
        [lifted] = talk.request(now=21_000.0).lifted
        talk.add({"role": "assistant", "content": "done"})
    history = history_of_log(read_log_file(tmp_path / "c.jsonl"))
    assert [(one.number, one.first, one.end, one.ended_because) for one in history.strikes] == [
        (first.number, 8, 9, "it was undone"),
        (second.number, 8, 9, "its message was pinned"),
        (third.number, 8, 9, lifted.because),
    ]
    assert history.pins == {second.index}
    assert [list(request.indices)[-1] for request in history.requests[8:]] == [16, 18]


def test_after_a_rewind_the_requests_are_those_of_the_branch(tmp_path):
    """What was said on the way that was left is no part of it, and what was undone there stays so."""
    policy = Policy(rules=["historical_reads"], schedule="eager")
    with Conversation(log=tmp_path / "c.jsonl", policy=policy, model=MODEL) as talk:
        for number, payload in enumerate(conversation("anthropic", READS)):
            if payload["role"] == "assistant":
                talk.request(now=1_000.0 * number)
            talk.add(payload, timestamp_ms=1_000.0 * number)
        talk.undo(talk.strikes[0])
        talk.rewind(15)
        talk.add({"role": "assistant", "content": "another answer"})
    history = history_of_log(read_log_file(tmp_path / "c.jsonl"))
    assert history.load(history.count - 1).text == "another answer"
    assert history.requests[-1].end == 15
    assert [one.ended_because for one in history.strikes if one.end is not None] == ["it was undone on another branch"]


EDITED = conversation("anthropic", READS)


def edited(folder, *, refused_at=None):
    """A list edited and reported before each of its answers; at one of the requests the provider refuses the change."""
    editor = Editor(folder, policy=Policy(rules=["historical_reads"], schedule="eager"))
    for number in range(1, len(EDITED), 2):
        request = editor.edit(EDITED[:number], session="s", now=1_000.0 * number, model=MODEL)
        if number == refused_at:
            editor.stop_editing(request, "the provider answered 400")
        editor.report(request, {"input_tokens": 1_000 * number, "output_tokens": 1})
    editor.close()
    [path] = folder.glob("*.jsonl")
    return history_of_log(read_log_file(path))


def test_what_is_left_alone_from_the_first_change_on_was_never_changed(tmp_path):
    """The provider refused the first request that had strikes: nothing of the history was sent with them."""
    history = edited(tmp_path, refused_at=13)
    assert history.strikes
    assert history.observed == "the provider answered 400"
    assert {request.bill.saved.total for request in history.requests} == {0}


def test_what_is_left_alone_later_was_changed_until_then(tmp_path):
    """The requests before were sent with their strikes, which end with the one that was refused."""
    whole, history = edited(tmp_path / "whole"), edited(tmp_path / "refused", refused_at=15)
    assert (history.observed, len(history.requests)) == ("", 9)
    assert [request.bill for request in history.requests[:7]] == [request.bill for request in whole.requests[:7]]
    assert [bool(request.bill.saved.total) for request in history.requests] == [False] * 6 + [True] + [False] * 2
    assert [(one.first, one.end, one.ended_because) for one in history.strikes] == [
        (6, 7, "the provider answered 400"),
        (7, 7, "the provider answered 400"),
    ]


def test_an_unknown_head_is_refused(tmp_path):
    """The error says how many records there are."""
    told(tmp_path / "c.jsonl", conversation("anthropic", READS))
    with pytest.raises(LogError, match="There is no record 999"):
        history_of_log(read_log_file(tmp_path / "c.jsonl"), head=999)


@tries(15)
@given(st.data())
def test_a_log_holds_the_messages_that_were_said(tmp_path_factory, data):
    """In their order, in the version that counts, with their times."""
    native = data.draw(conversations("anthropic"))
    path = tmp_path_factory.mktemp("log") / "c.jsonl"
    told(path, native)
    history = history_of_log(read_log_file(path))
    assert [payloads.decode(history.load(index).native) for index in range(history.count)] == native
    assert history.times == [1_000.0 * number for number in range(len(native))]


def test_a_fork_has_not_paid_for_what_it_copied(tmp_path):
    """What a conversation cost before it was forked is told of it, and not of the fork again."""
    with redline.open(tmp_path / "one.jsonl", model="claude-opus-4-6", format="anthropic") as talk:
        for number in range(3):
            talk.add({"role": "user", "content": f"question {number}"})
            talk.request()
            talk.add({"role": "assistant", "content": "answer"})
            talk.record_usage(input_tokens=1_000, output_tokens=10)
        with talk.fork(tmp_path / "two.jsonl") as other:
            other.add({"role": "user", "content": "and another"})
            other.request()
            other.record_usage(input_tokens=1_000, output_tokens=10)
    first, second = (paid_in_log(read_log_file(tmp_path / name)) for name in ("one.jsonl", "two.jsonl"))
    assert (first.requests, second.requests) == (3, 1)
    assert first.usd == pytest.approx(3 * second.usd)


def test_usage_that_came_late_belongs_to_its_request(tmp_path):
    """A proxy on a busy machine may hear of the next request before it has recorded the usage of the last."""
    said = [
        says("user", "go"),
        *asks("read", {"path": "a"}, "x" * 400, id="a"),
        *asks("read", {"path": "b"}, "y" * 400, id="b"),
    ]
    lists = [conversation("anthropic", said[:count]) for count in (1, 3, 5)]
    with Editor(tmp_path / "chats", policy="documents") as editor:
        requests = [editor.edit(messages, model="claude-sonnet-4-5") for messages in lists]
        for number, request in enumerate(requests):
            editor.report(request, {"input_tokens": 100 + number, "output_tokens": 7})
    (log,) = (tmp_path / "chats").glob("*.jsonl")
    history = history_of_log(read_log_file(log))
    assert [request.usage.input_tokens for request in history.requests if request.usage] == [100, 101, 102]
