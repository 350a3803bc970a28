"""The Editor: lists that are sent whole each time are followed, and sent as they came but for what is struck."""

import copy
import json
import subprocess
import sys
import textwrap
import threading
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import redline
from redline import (
    EN,
    AsyncRedlineTransport,
    Conversation,
    Editor,
    ExecutionError,
    FormatError,
    Policy,
    RedlineTransport,
    ValidationError,
)
from redline.providers import FORMATS
from redline.record import list_conversations
from redline.record.blobs import MemoryBlobs
from redline.record.records import ForkedFrom, MessageAdded, SessionNamed, StrikesApplied, UsageReported
from redline.record.timeline import RecordTree
from redline.rules import Faded, OffloadResults
from redline.schedules import Rates, WhenFree
from redline.testing import asks, conversation, says
from redline.testing.strategies import conversations
from redline.values import payloads
from tests.effort import tries

MINUTE = 60_000
EAGER = Policy.documents(words=EN)
MODEL = "claude-sonnet-4-5"


def worked(format: str, reads: int = 8, *, words: str = "") -> list:
    """A list with one file read so often that its first reads may go."""
    turns = [says("user", f"Go on.{words}")]
    for number in range(reads):
        turns += asks("Read", {"file_path": "/a.py"}, f"text {number} " * 30, id=f"call_{words}{number}")
    return conversation(format, turns)


def in_bytes(messages: list) -> list[bytes]:
    return [payloads.encode(message) for message in messages]


def _where(request) -> tuple:
    """Where in which log a list was found: lists that are known by the same are at one place."""
    return request.log, request.record


def grown(editor: Editor, messages: list, **more) -> list:
    """Every request of an agent that sends its list whenever it has grown."""
    return [editor.edit(messages[:end], now=end * MINUTE, **more) for end in range(1, len(messages) + 1)]


@pytest.mark.parametrize("schedule", ["eager", "when_free"])
@pytest.mark.parametrize("format", FORMATS)
def test_it_sends_what_a_conversation_sends(format, schedule):
    """The same list, added message by message to a conversation, gives the same strikes and the same bytes."""
    messages, policy = in_bytes(worked(format, 12)), Policy(schedule=schedule, words=EN)
    editor, own = Editor(policy=policy), Conversation(policy=policy, model=MODEL, format=format)
    for end, message in enumerate(messages, 1):
        now = end * MINUTE if end < len(messages) - 4 else (end + 30) * MINUTE  # somebody went for lunch
        own.add(message, timestamp_ms=now)
        expected = own.request(now=now)
        request = editor.edit(messages[:end], format=format, model=MODEL, now=now)
        assert request.body == b"[" + b",".join(one.stored for one in expected.sent) + b"]"
        assert [strike.at for strike in request.strikes] == [strike.at for strike in expected.strikes]
    assert request.strikes


@pytest.mark.parametrize("format", FORMATS)
def test_what_is_not_struck_is_the_callers_own(format):
    """Messages that nothing was done to are the very objects that were given, and what was given is not touched."""
    messages = worked(format)
    before = copy.deepcopy(messages)
    request = grown(Editor(policy=EAGER), messages, format=format)[-1]
    struck = {strike.index for strike in request.strikes}
    assert struck
    for position, payload in request.pieces:
        assert (payload is messages[position]) == (position not in struck)
    assert messages == before
    assert request.is_changed


def test_nothing_to_strike_means_nothing_changes():
    """A request in which nothing is struck or repaired says so."""
    request = Editor().edit(conversation("anthropic", [says("user", "hi")]))
    assert not request.is_changed
    assert request.untouched == ""


@pytest.mark.parametrize("kind", ["folder", "sqlite", "postgresql"])
@pytest.mark.parametrize("format", FORMATS)
def test_another_process_sends_the_same_bytes(format, kind, tmp_path, request):
    """Each request by an editor of its own, over one store, is what one editor sends that lives on."""
    store = {"folder": tmp_path / "chats", "sqlite": f"sqlite:///{tmp_path}/chats.db"}.get(kind)
    namespace = f"{request.node.name}"
    store = store or request.getfixturevalue("postgres")
    messages = in_bytes(worked(format, 9))
    living = grown(Editor(policy=EAGER), messages, format=format)
    for end, expected in enumerate(living, 1):
        with Editor(store, policy=EAGER) as editor:
            again = editor.edit(messages[:end], format=format, namespace=namespace, now=end * MINUTE)
        assert again.body == expected.body
    assert again.is_changed


def test_a_killed_process_loses_nothing(tmp_path):
    """What was sent before a kill is sent after it, byte for byte."""
    program = f"""
        import os, sys
        from redline import EN, Editor, Policy
        from tests.test_editor import grown, in_bytes, worked
        editor = Editor({str(tmp_path / "chats")!r}, policy=Policy.documents(words=EN))
        sys.stdout.buffer.write(grown(editor, in_bytes(worked("anthropic")))[-1].body)
        sys.stdout.flush()
        os.kill(os.getpid(), 9)
    """
    root = Path(__file__).resolve().parents[1]
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], cwd=root, capture_output=True, check=False)
    assert done.returncode == -9, done.stderr
    again = Editor(tmp_path / "chats", policy=Policy(rules=(), words=EN)).edit(in_bytes(worked("anthropic")), now=99 * MINUTE)
    assert again.body == done.stdout
    assert again.is_changed


# --- what callers move about


def marked(messages: list) -> list:
    """As Claude Code sends it: the last block of the last message carries the mark, words alone as a block for it."""
    *rest, last = copy.deepcopy(messages)
    if isinstance(last["content"], str):
        last["content"] = [{"type": "text", "text": last["content"]}]
    last["content"][-1]["cache_control"] = {"type": "ephemeral"}
    return [*rest, last]


def test_a_cache_mark_that_moves_is_no_other_message():
    """Strikes stay while the mark goes through the list, and the caller's mark goes out as the caller set it."""
    messages, editor = worked("anthropic", 9), Editor(policy=EAGER)
    plain = grown(Editor(policy=EAGER), messages)
    for end, expected in list(enumerate(plain, 1))[::2]:
        request = editor.edit(in_bytes(marked(messages[:end])), now=end * MINUTE)
        without = json.loads(request.body.replace(b',"cache_control":{"type":"ephemeral"}', b""))
        assert len(request.strikes) == len(expected.strikes)
        assert request.body.count(b"cache_control") == 1
        assert without[:-1] == expected.messages[:-1]
    assert request.strikes


def test_a_text_may_be_a_string_or_a_block():
    """A result whose words come as a string, and later as one block, stays struck in either spelling."""
    messages, editor = worked("anthropic", 9), Editor(policy=EAGER)
    grown(editor, messages)
    for message in messages:
        for block in message["content"] if isinstance(message["content"], list) else ():
            if block["type"] == "tool_result" and isinstance(block["content"], str):
                block["content"] = [{"type": "text", "text": block["content"]}]
    request = editor.edit(messages, now=99 * MINUTE)
    struck = [request.messages[strike.index]["content"][0]["content"] for strike in request.strikes]
    assert len(struck) == 4
    assert not any("text 0" in json.dumps(content) for content in struck)


def test_reasoning_that_a_client_strips_makes_no_branch():
    """After a refusal clients send the list without its reasoning: the strikes are those of before."""
    messages = worked("anthropic", 9)
    for message in messages[1::2]:
        message["content"].insert(0, {"type": "thinking", "thinking": "hm", "signature": "s"})
    editor = Editor(policy=EAGER)
    before = grown(editor, messages)[-1]
    stripped = [
        {**one, "content": [block for block in one["content"] if block["type"] != "thinking"]}
        if isinstance(one["content"], list)
        else one
        for one in messages
    ]
    after = editor.edit(stripped, now=99 * MINUTE)
    assert [one.number for one in after.strikes] == [one.number for one in before.strikes]
    assert "thinking" not in after.body.decode()


def test_ids_that_gemini_clients_invent_do_not_count():
    """Calls whose ids are others each time are the same calls."""
    messages, editor = worked("gemini", 9), Editor(policy=EAGER)
    grown(editor, messages, format="gemini")
    other = json.loads(json.dumps(messages).replace("call_", "other_"))
    request = editor.edit(other, format="gemini", now=99 * MINUTE)
    assert request.strikes
    assert "other_0" in request.body.decode()


@pytest.mark.parametrize("sessions", [("", ""), ("a", "b")])
def test_a_call_that_two_lists_make_is_answered_in_both(sessions):
    """Lists that are alike up to a call name it as they like: the result of each answers its own."""
    editor = Editor(policy=EAGER)
    for session, id in zip(sessions, "xy", strict=True):
        for later in ([], [says("user", "Go on.")]):
            turns = [says("user", "Why?"), *asks("run_shell_command", {"command": "date"}, f"It is {id}.", id=id), *later]
            request = editor.edit(conversation("gemini", turns), session=session)
            assert not request.repairs
            assert not request.is_changed


@pytest.mark.parametrize("earlier", ["the same list", "another list"])
def test_what_is_said_again_in_the_same_words_is_new(earlier):
    """Without ids a command's output may be equal to one of long ago: it counts from the request that brings it."""
    editor, began = Editor(policy=EAGER), says("user", "Why?")
    again = asks("run_shell_command", {"command": "make"}, "cc -c orders.c " * 90)
    ran = [turn for number in range(7) for turn in asks("run_shell_command", {"command": "make"}, f"run {number} " * 90)]
    if earlier == "another list":
        editor.edit(conversation("gemini", [began, *again]), now=MINUTE)
    messages = conversation("gemini", [began, *(again if earlier == "the same list" else ()), *ran, *again])
    for end in range(1, len(messages) + 1):
        request = editor.edit(messages[:end], now=(60 + end * 3) * MINUTE)
        assert end - 1 not in {strike.index for strike in request.strikes}
    assert request.strikes


def test_what_a_tool_was_given_counts_whole():
    """Names that are ignored elsewhere mean something in a tool's own input."""
    first = conversation("anthropic", [says("user", "x"), *asks("t", {"cache_control": 1, "index": 2}, "a")])
    other = conversation("anthropic", [says("user", "x"), *asks("t", {"cache_control": 2, "index": 3}, "a")])
    editor = Editor()
    assert _where(editor.edit(first)) != _where(editor.edit(other))


def test_leading_system_messages_may_change():
    """A system prompt with the date in it is sent as it is now, and the conversation goes on."""
    messages, editor = worked("openai_chat", 9), Editor(policy=EAGER)
    for end in range(1, len(messages) + 1):
        lead = [{"role": "system", "content": f"It is minute {end}."}, {"role": "developer", "content": "Be brief."}]
        request = editor.edit([*lead, *messages[:end]], now=end * MINUTE)
    assert request.strikes
    assert request.messages[:2] == lead
    assert request.pieces[2][0] == 2


# --- branches


def test_an_edited_message_is_a_branch():
    """A list that turns off goes its own way; strikes on what both have are kept while they have their ground."""
    messages, editor = worked("anthropic", 9), Editor(policy=EAGER)
    before = grown(editor, messages)[-1]
    turned = [*messages[:-2], {"role": "user", "content": "Stop. What did you find?"}]
    after = editor.edit(turned, now=99 * MINUTE)
    kept = {strike.index for strike in after.strikes}
    assert kept < {strike.index for strike in before.strikes}
    assert after.messages[-1] == turned[-1]
    again = editor.edit(messages, now=100 * MINUTE)
    assert {strike.index for strike in again.strikes} == {strike.index for strike in before.strikes}


def test_a_rewind_gives_back_what_lost_its_ground():
    """A read is not struck for later reads that are no longer in the list."""
    messages, editor = worked("anthropic", 9), Editor(policy=EAGER)
    assert grown(editor, messages)[-1].strikes
    short = [*messages[:9], {"role": "user", "content": "Again from here."}]
    assert editor.edit(short, now=99 * MINUTE).strikes == ()


def test_a_rewind_among_many_branches_looks_at_each_record_once():
    """What a rewind costs grows with the records that came since, not with how long each of their ways is, too."""
    editor = Editor(policy=EAGER)
    spoken = [{"role": role, "content": f"{n}"} for n in range(50) for role in ("assistant", "user")]
    begun = [conversation("anthropic", [says("user", "x"), *asks("t", {}, "y", id=f"c{number}")]) for number in range(20)]
    for messages in begun:
        request = editor.edit([*messages, *spoken], session="s")
    tree, looked_at = editor._histories.open(request.log, "").tree, 0

    class Counted(dict):
        def __getitem__(self, number):
            nonlocal looked_at
            looked_at += 1
            return super().__getitem__(number)

    tree.stored = Counted(tree.stored)
    editor.edit([*begun[0], *spoken[:2], {"role": "user", "content": "Another way."}], session="s")
    assert len(tree.stored) > 2_000
    assert looked_at < 1.5 * len(tree.stored)


def test_a_fork_under_another_name_inherits_the_strikes():
    """The same history under a new session name is sent with the strikes that are in the provider's cache."""
    messages, editor = in_bytes(worked("anthropic", 9)), Editor(policy=EAGER)
    before = grown(editor, messages, session="one")[-1]
    fork = [*messages, payloads.encode({"role": "user", "content": "Now in the fork."})]
    after = editor.edit(fork, session="two", now=99 * MINUTE)
    assert after.body.startswith(before.body[:-1])
    assert [one.number for one in after.strikes] == [one.number for one in before.strikes]


def test_sessions_that_say_the_same_are_kept_apart():
    """Two sub-agents with one prompt: what is undone, left alone or learned of one does not count for the other."""
    messages, editor = worked("anthropic", 9), Editor(policy=EAGER)
    for end in range(1, len(messages) + 1):
        one = editor.edit(messages[:end], session="one", now=end * MINUTE)
        two = editor.edit(messages[:end], session="two", now=end * MINUTE)
        assert one.messages == two.messages
        assert one.log != two.log
    editor.stop_editing(one, "refused")
    assert not editor.edit(messages, session="one", now=99 * MINUTE).is_changed
    assert editor.edit(messages, session="two", now=99 * MINUTE).is_changed


def test_namespaces_share_nothing(tmp_path):
    """The same history of another key or project is in another log."""
    messages, editor = worked("anthropic", 9), Editor(tmp_path, policy=EAGER)
    here = grown(editor, messages, namespace="here")[-1]
    there = editor.edit(messages, namespace="there", now=99 * MINUTE)
    assert here.log != there.log
    assert all(strike in there.new_strikes for strike in there.strikes)


def test_a_report_opens_no_namespace(tmp_path):
    """A log that is opened for the usage of a request stays that of its namespace: nobody else's list goes on from it."""
    messages = worked("anthropic", 4)
    request = Editor(tmp_path, policy=EAGER).edit(messages, namespace="one", now=MINUTE)
    editor = Editor(tmp_path, policy=EAGER)
    editor.report(request, {"input_tokens": 9, "output_tokens": 1})
    compacted = [{"role": "user", "content": "A summary."}, *messages[1:]]
    other = editor.edit(compacted, now=2 * MINUTE)
    assert request.log not in Path(editor.address_of(other)).read_text()
    editor.edit(messages, namespace="one", now=3 * MINUTE)
    own = editor.edit(compacted, namespace="one", now=4 * MINUTE)
    assert request.log in Path(editor.address_of(own)).read_text()


def test_objects_of_an_sdk_are_taken():
    """As in `content=response.content`; what is not struck goes out as the very object."""
    from anthropic.types import ToolUseBlock

    messages = worked("anthropic", 9)
    for message in messages[1::2]:
        message["content"] = [ToolUseBlock.model_validate(block) for block in message["content"]]
    request = grown(Editor(policy=EAGER), messages)[-1]
    assert len(request.strikes) == 4
    assert request.messages[1] is messages[1]


def test_the_model_settles_what_the_first_words_leave_open():
    """A list of nothing but words is of the model's own API, so that it is not begun twice."""
    messages, editor = worked("anthropic", 2), Editor()
    logs = {editor.edit(messages[:end], model=MODEL).log for end in (1, 3, 5)}
    assert len(logs) == 1


def test_equal_openings_without_a_name_never_mix():
    """Two conversations that begin alike share what is alike, and what one says never comes up in the other."""
    start = conversation("anthropic", [says("user", "Fix the tests.")])
    first, second = (start + worked("anthropic", 8, words=name)[1:] for name in ("a", "b"))
    editor = Editor(policy=EAGER)
    for end in range(1, len(first) + 1):
        one = editor.edit(first[:end], now=end * MINUTE)
        two = editor.edit(second[:end], now=end * MINUTE)
    assert "call_b" not in json.dumps(one.messages)
    assert "call_a" not in json.dumps(two.messages)
    assert one.strikes
    assert [strike.index for strike in one.strikes] == [strike.index for strike in two.strikes]


def test_a_side_question_moves_nothing():
    """A request that asks something else of the same history leaves the conversation where it is."""
    messages, editor = worked("anthropic", 9), Editor(policy=EAGER)
    plain = grown(Editor(policy=EAGER), messages)
    for end, expected in enumerate(plain, 1):
        request = editor.edit(messages[:end], session="s", now=end * MINUTE)
        assert request.messages == expected.messages
        editor.edit([*messages[:end], {"role": "user", "content": "A title, please."}], session="s", now=end * MINUTE)


# --- compaction


@pytest.mark.parametrize("restarted", [False, True])
def test_compaction_is_a_new_record_that_names_its_origin(tmp_path, restarted):
    """A summary with the last messages behind it is cold; it names the log it comes from, and the messages keep their times."""
    messages, editor = worked("anthropic", 9), Editor(tmp_path, policy=EAGER)
    before = grown(editor, messages, session="s")[-1]
    if restarted:
        editor.close()
        editor = Editor(tmp_path, policy=EAGER)
    short = [{"role": "user", "content": "Summary: the file was read."}, *messages[-4:]]
    after = editor.edit(short, session="s", now=99 * MINUTE)
    assert after.log != before.log
    records = [one.record for one in RecordTree(editor._histories.store.open(after.log, None)).path(after.record)]
    assert records[0] == ForkedFrom(editor.address_of(before), "its client compacted the history")
    assert records[1] == SessionNamed("s")
    assert [record.timestamp_ms / MINUTE for record in records[2:7]] == [99, 16, 17, 18, 19]


def test_another_conversation_of_a_session_is_no_compaction(tmp_path):
    """A title call, or a fresh start, has nothing in common with what came before."""
    editor = Editor(tmp_path, policy=EAGER)
    grown(editor, worked("anthropic", 3), session="s")
    other = editor.edit([{"role": "user", "content": "A title for: Go on."}], session="s")
    records = [one.record for one in RecordTree(editor._histories.store.open(other.log, None)).path(other.record)]
    assert not any(isinstance(record, ForkedFrom) for record in records)


# --- histories that the service keeps


@pytest.mark.parametrize("format", FORMATS)
def test_a_list_that_begins_with_a_result_is_passed_on(format):
    """The provider keeps the rest: nothing is repaired, nothing is recorded."""
    messages = worked(format, 3)[2:]
    request = Editor().edit(messages, format=format)
    assert not request.is_changed
    assert "the provider keeps the history" in request.untouched
    assert request.messages == messages


# --- what becomes of a request


def test_usage_goes_to_the_request_it_belongs_to(tmp_path):
    """What is reported for a request counts for it, also after a restart, and also if the next one was made already."""
    messages, editor = worked("anthropic", 3), Editor(tmp_path, policy=Policy(schedule="when_free"))
    first = editor.edit(messages[:3], model=MODEL, now=MINUTE)
    second = editor.edit(messages[:5], model=MODEL, now=2 * MINUTE)
    editor.report(first, {"input_tokens": 10, "output_tokens": 2})
    editor.close()
    editor = Editor(tmp_path, policy=Policy(schedule="when_free"))
    split = {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 20}
    usage = {"input_tokens": 10, "output_tokens": 2, "cache_creation_input_tokens": 20, "cache_creation": split}
    editor.report(second, usage)
    third = editor.edit(messages[:5], model=MODEL, now=3 * MINUTE)
    path = RecordTree(editor._histories.store.open(second.log, None)).path(third.record)
    reported = [one.record for one in path if isinstance(one.record, UsageReported)]
    assert reported == [UsageReported(30, 2, 0, 20, 20)]


def test_what_was_refused_is_left_alone_for_good(tmp_path):
    """After a refusal what goes on from there is passed on as it comes, by other processes too; the rest is not."""
    messages, editor = worked("anthropic", 9), Editor(tmp_path, policy=EAGER)
    requests = grown(editor, messages)
    editor.stop_editing(requests[-1], "the provider answered 400")
    editor.close()
    longer = [*messages, {"role": "user", "content": "And now?"}]
    after = Editor(tmp_path, policy=EAGER).edit(longer, now=99 * MINUTE)
    assert not after.is_changed
    assert after.untouched == "the provider answered 400"
    other = [*messages[:-1], {"role": "user", "content": "No."}]
    assert Editor(tmp_path, policy=EAGER).edit(other, now=99 * MINUTE).untouched == ""


def test_what_was_never_sent_is_withdrawn(tmp_path):
    """A request that came too late is taken back: its strikes are made again, by a request that is sent."""
    messages, editor = worked("anthropic", 9), Editor(tmp_path, policy=EAGER)
    request = editor.edit(messages, now=MINUTE)
    editor.withdraw(request)
    assert not editor.recorded(messages).is_changed
    editor.close()
    again = Editor(tmp_path, policy=EAGER).edit(messages, now=2 * MINUTE)
    assert again.messages == request.messages
    assert len(again.new_strikes) == len(request.new_strikes) == 4


@pytest.mark.parametrize("first", ["withdraw", "undo"])
def test_a_strike_is_withdrawn_once(first, tmp_path):
    """What is not struck any more, because it was withdrawn or undone, cannot be withdrawn: the log stays readable."""
    messages, editor = worked("anthropic", 9), Editor(tmp_path, policy=EAGER)
    request = editor.edit(messages, now=MINUTE)
    if first == "withdraw":
        editor.withdraw(request)
    else:
        with redline.open(editor.address_of(request)) as own:
            own.undo(request.new_strikes[0].number)
    editor.withdraw(request)
    assert not editor.recorded(messages).is_changed
    editor.close()
    assert Editor(tmp_path, policy=EAGER).edit(messages, now=2 * MINUTE).strikes


def test_a_warm_cache_is_believed():
    """Marks that would go because the cache went cold wait when the client kept it warm."""
    messages, policy = worked("anthropic", 9), Policy(schedule="when_free", words=EN)
    for is_kept in (False, True):
        editor = Editor(policy=policy)
        for end in range(1, len(messages)):
            request = editor.edit(messages[:end], model=MODEL, now=end * 1000)
        if is_kept:
            editor.keep_warm(request, now=10 * MINUTE)
        after = editor.edit(messages, model=MODEL, now=11 * MINUTE)
        assert bool(after.new_strikes) is not is_kept


def test_a_longer_lifetime_is_believed():
    """What a client caches for an hour is warm after ten minutes."""
    messages, policy = worked("anthropic", 9), Policy(schedule="when_free", words=EN)
    struck = {}
    for lifetime in ("5m", "1h"):
        editor = Editor(policy=policy)
        for end in range(1, len(messages)):
            editor.edit(messages[:end], model=MODEL, lifetime=lifetime, now=end * 1000)
        struck[lifetime] = bool(editor.edit(messages, model=MODEL, lifetime=lifetime, now=10 * MINUTE).new_strikes)
    assert struck == {"5m": True, "1h": False}


@pytest.mark.parametrize(
    ("schedule", "write"), [("when_free", 2.0), (None, 2.0), (WhenFree(Rates(0.1, 1.5)), 1.5)], ids=["named", "default", "own"]
)
def test_a_one_hour_cache_is_weighed_at_its_own_price(schedule, write):
    """Writing to it costs twice the price of input; the rates of a schedule of one's own stay."""
    bills = {}
    for lifetime in ("5m", "1h"):
        editor = Editor(policy=Policy(schedule=schedule))
        request = editor.edit(worked("anthropic", 3), model="claude-opus-4-6", lifetime=lifetime, now=MINUTE)
        path = RecordTree(editor._histories.store.open(request.log, None)).path(request.record)
        (applied,) = [one.record for one in path if isinstance(one.record, StrikesApplied)]
        bills[lifetime] = applied.ledger.bill / applied.ledger.unstruck
    assert bills == {"5m": pytest.approx(1.5 if write == 1.5 else 1.25), "1h": pytest.approx(write)}


def test_without_a_cache_strikes_are_free():
    """A client that asks for no cache pays for every token each time, unless the provider reports that it caches anyway."""
    messages, policy = worked("anthropic", 9), Policy(schedule="when_free", words=EN)
    struck = {}
    for is_cached in (False, True):
        editor = Editor(policy=policy)
        for end in range(1, len(messages) + 1, 2):
            request = editor.edit(messages[:end], model=MODEL, lifetime="none", now=end * 1000)
            usage = {"input_tokens": 9000, "output_tokens": 5, "cache_read_input_tokens": 8000 if is_cached else 0}
            editor.report(request, usage)
        struck[is_cached] = len(request.strikes)
    assert struck == {False: 4, True: 0}


def test_recorded_strikes_without_rules():
    """The first retreat: what is recorded is struck, what is new is the caller's."""
    messages, editor = in_bytes(worked("anthropic", 9)), Editor(policy=EAGER)
    before = grown(editor, messages)[-1]
    longer = [*messages, payloads.encode({"role": "user", "content": "More."})]
    after = editor.recorded(longer)
    assert after.body == before.body[:-1] + b"," + longer[-1] + b"]"
    assert [one.number for one in after.strikes] == [one.number for one in before.strikes]
    assert not editor.recorded(in_bytes(worked("anthropic", 2, words="other"))).is_changed


def test_recorded_strikes_that_are_refused_are_left_alone():
    """Also what the first retreat sends can be refused."""
    messages, editor = worked("anthropic", 9), Editor(policy=EAGER)
    editor.edit(messages, now=MINUTE)
    retreat = editor.recorded(messages)
    assert retreat.is_changed
    editor.stop_editing(retreat, "the provider answered 400")
    assert editor.edit(messages, now=2 * MINUTE).untouched == "the provider answered 400"


def test_an_open_call_is_repaired():
    """A list that a crash cut off inside a call is sent so that the provider takes it, again and again the same."""
    messages = conversation("anthropic", [says("user", "x"), *asks("t", {}, None)])
    messages.append({"role": "user", "content": "What happened?"})
    editor = Editor()
    request = editor.edit(messages)
    assert redline.check(request.messages) == []
    assert request.is_changed
    assert request.repairs
    longer = [*messages, {"role": "assistant", "content": "Nothing."}, {"role": "user", "content": "Good."}]
    assert editor.edit(longer).body.startswith(request.body[:-1])


@pytest.mark.parametrize("content", [[{"type": 5}], [{"type": "text", "text": ""}], []])
def test_a_list_of_which_nothing_is_left_is_sent_as_it_came(content):
    """Providers take no empty list, and what they say to the caller's own is of more use to it."""
    messages = [{"role": "user", "content": content}]
    request = Editor().edit(messages, format="anthropic")
    assert request.messages == messages
    assert not request.is_changed


@pytest.mark.parametrize("strategy", ["drop", "answer", "strip"])
def test_what_is_repaired_has_the_cache_marks_of_now(strategy):
    """A mark that the client has moved on is not sent where it was before: the provider takes no more than four."""
    editor, messages = Editor(policy=Policy.documents(words=EN, strategy=strategy)), [{"role": "user", "content": "Go on."}]
    for number in range(9):
        calls = [{"type": "tool_use", "id": f"{one}{number}", "name": "Read", "input": {"file_path": "/a"}} for one in "ab"]
        result = {"type": "tool_result", "tool_use_id": f"a{number}", "content": f"text {number} " * 40}
        heard = [result, {"type": "text", "text": f"{number}"}]
        messages += [
            {"role": "assistant", "content": [{"type": "text", "text": "x"}, *calls]},
            {"role": "user", "content": heard},
        ]
        marked = copy.deepcopy(messages)
        marked[-1]["content"][-1]["cache_control"] = {"type": "ephemeral"}
        request = editor.edit(marked, now=number * MINUTE)
        assert redline.check(request.messages) == []
        assert request.body.count(b"cache_control") == 1
    assert bool(request.strikes) == (strategy != "drop")


@pytest.mark.parametrize("strategy", ["answer", "strip"])
def test_what_is_repaired_is_sent_with_its_secrets(strategy):
    """Redaction keeps secrets out of the store alone, also where a message is not sent as it came."""
    secret = "sk-ant-api03-" + "a1B2" * 20
    said = [{"type": "text", "text": secret}, *({"type": "tool_use", "id": one, "name": "t", "input": {}} for one in "ab")]
    heard = [{"type": "tool_result", "tool_use_id": "a", "content": secret}, {"type": "text", "text": "And b?"}]
    messages = [{"role": "user", "content": "x"}, {"role": "assistant", "content": said}, {"role": "user", "content": heard}]
    editor = Editor(policy=Policy(words=EN, strategy=strategy), redact=redline.redact)
    request = editor.edit(messages)
    assert request.is_changed
    assert redline.check(request.messages) == []
    assert request.body.count(secret.encode()) == 2


# --- several workers


@pytest.mark.parametrize("kind", ["folder", "sqlite", "postgresql"])
def test_workers_agree(kind, tmp_path, request):
    """Several editors over one store, at the same moment: what they send of one history is the same, byte for byte."""
    store = {"folder": tmp_path / "chats", "sqlite": f"sqlite:///{tmp_path}/chats.db"}.get(kind)
    store = store or request.getfixturevalue("postgres")
    messages = in_bytes(worked("anthropic", 12, words=kind))
    editors = [Editor(store, policy=EAGER) for _ in range(4)]
    for end in range(1, len(messages) + 1):
        sent, barrier = {}, threading.Barrier(len(editors))

        def edit(number, editor, end=end, sent=sent, barrier=barrier):
            barrier.wait()
            sent[number] = editor.edit(messages[:end], now=(end + number / 10) * MINUTE)

        threads = [threading.Thread(target=edit, args=pair) for pair in enumerate(editors)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len({one.body for one in sent.values()}) == 1
        assert len({one.record for one in sent.values()}) == 1
    assert sent[0].strikes
    for editor in editors:
        editor.close()


@pytest.mark.parametrize("schedule", ["eager", "when_free"])
@pytest.mark.parametrize("format", FORMATS)
def test_requests_may_go_to_any_worker(format, schedule, tmp_path):
    """Three workers take turns, none of them sees every request: together they send what one alone would."""
    messages, policy = in_bytes(worked(format, 14)), Policy(schedule=schedule, words=EN)
    alone, workers = Editor(policy=policy), [Editor(tmp_path, policy=policy) for _ in range(3)]
    for end in range(1, len(messages) + 1):
        now = end * MINUTE if end % 9 else (end + 7) * MINUTE
        asked = {"format": format, "model": MODEL, "now": now}
        expected = alone.edit(messages[:end], **asked)
        request = workers[end % 3].edit(messages[:end], **asked)
        assert request.body == expected.body
        assert [str(one.why) for one in request.held] == [str(one.why) for one in expected.held]
        usage = {"input_tokens": 9000 + end, "output_tokens": 1, "cache_read_input_tokens": 8000}
        alone.report(expected, usage)
        workers[(end + 1) % 3].report(request, usage)
    assert request.strikes


def test_threads_share_an_editor():
    """Many conversations at once through one editor."""
    editor, failed = Editor(policy=EAGER), []

    def run(name):
        try:
            messages = worked("anthropic", 8, words=name)
            assert grown(editor, messages)[-1].messages == grown(Editor(policy=EAGER), messages)[-1].messages
        except BaseException as problem:
            failed.append(problem)

    threads = [threading.Thread(target=run, args=(str(number),)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []


# --- what is stored


def test_what_is_recorded_can_be_asked_for_at_any_time():
    """Lists are looked for in one log by several threads at once, and each finds its own way."""
    editor, interval = Editor(policy=EAGER), sys.getswitchinterval()
    heard = [[turn for n in range(20) for turn in asks("t", {}, "y", id=f"c{name}{n}")] for name in "abcd"]
    lists = [conversation("anthropic", [says("user", "x"), *turns]) for turns in heard]
    expected = [editor.edit(one, now=MINUTE).record for one in lists]
    found: list = []

    def look(place: int) -> None:
        try:
            found.extend((place, editor.recorded(lists[place]).record) for _ in range(300))
        except Exception as problem:
            found.append((place, problem))

    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=look, args=(place,)) for place in range(len(lists))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert set(found) == set(enumerate(expected))


def test_secrets_are_not_stored_and_still_sent(tmp_path):
    """With redaction the store holds no secret; what is sent is what the caller gave."""
    secret = "sk-ant-api03-" + "a1B2" * 20
    messages = worked("anthropic", 9)
    messages[0]["content"] = f"Use {secret}"
    editor = Editor(tmp_path, policy=EAGER, redact=redline.redact)
    request = grown(editor, messages)[-1]
    assert request.strikes
    assert secret in request.messages[0]["content"]
    editor.close()
    assert not any(secret in path.read_text() for path in tmp_path.iterdir())
    again = Editor(tmp_path, policy=EAGER, redact=redline.redact).edit(messages, now=99 * MINUTE)
    assert again.messages == request.messages


def test_a_message_that_comes_again_is_not_redacted_again():
    """However often a list is sent, the hook sees each message at most twice: when it is read, and when it is stored."""
    asked = Counter()

    def redact(content):
        asked[content] += 1
        return content

    grown(Editor(redact=redact), messages := worked("anthropic", 9))
    assert max(asked[payloads.encode(message)] for message in messages) == 2


@pytest.mark.parametrize("answer", [None, "text", b"no JSON", b"[]"])
def test_a_redaction_hook_that_spoils_messages_is_refused(answer, tmp_path):
    """Nothing is stored of them."""
    with Editor(tmp_path, redact=lambda _: answer) as editor, pytest.raises(ValidationError, match="redaction hook"):
        editor.edit(worked("anthropic", 9))
    assert not any(b"user" in path.read_bytes() for path in tmp_path.iterdir())


def test_files_are_the_owners_alone(tmp_path):
    """Nobody else may read what is stored."""
    store = tmp_path / "chats"
    with Editor(store) as editor:
        editor.edit(worked("anthropic", 2), session="s")
    assert {path.stat().st_mode & 0o777 for path in store.iterdir()} == {0o600}
    assert store.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("kind", ["folder", "sqlite"])
def test_the_index_of_sessions_is_no_conversation(kind, tmp_path):
    """Commands that list what is stored list conversations only."""
    store = tmp_path / "chats" if kind == "folder" else f"sqlite:///{tmp_path}/chats.db"
    with Editor(store) as editor:
        request = editor.edit(worked("anthropic", 2), session="s")
    names = [path.stem for path in store.glob("*.jsonl")] if kind == "folder" else list_conversations(store)
    assert names == [request.log]


def test_a_log_of_the_store_opens_as_a_conversation(tmp_path):
    """What the editor recorded can be inspected like any conversation."""
    messages, editor = worked("anthropic", 9), Editor(tmp_path, policy=EAGER)
    request = grown(editor, messages)[-1]
    talk = redline.open(editor.address_of(request), policy=EAGER)
    assert talk.messages == messages
    assert len(talk.strikes) == len(request.strikes)


def test_a_strike_that_somebody_undoes_is_undone(tmp_path):
    """Undone in the log, by another process, it is sent as it was said from the next request on."""
    messages, editor = worked("anthropic", 9), Editor(tmp_path, policy=EAGER)
    request = grown(editor, messages)[-1]
    with redline.open(editor.address_of(request), policy=EAGER) as talk:
        talk.undo(request.strikes[0])
    after = editor.edit(messages, now=99 * MINUTE)
    assert [one.number for one in after.strikes] == [one.number for one in request.strikes[1:]]


# --- the door


@pytest.mark.parametrize(
    ("wrong", "problem"),
    [
        ({"messages": "hi"}, "messages must be a list"),
        ({"messages": [3]}, "Message 0 must be a dict, or its JSON as bytes"),
        ({"messages": [{"role": "user", "content": "x"}, b"[1]"]}, "must be a JSON object"),
        ({"messages": [{"role": "user", "content": object()}]}, "Message 0 is not JSON"),
        ({"session": 3}, "session must be a text"),
        ({"namespace": None}, "namespace must be a text"),
        ({"format": "nope"}, "no format named"),
        ({"times": [1, 2]}, "one for each of the 1 messages"),
        ({"times": ["x"]}, "The time of a message"),
        ({"now": "x"}, "now"),
        ({"lifetime": "2h"}, "lifetime must be one of none, 5m, 1h"),
        ({"lifetime": ["5m"]}, "lifetime must be one of none, 5m, 1h"),
        ({"preamble": object()}, "preamble must be JSON"),
    ],
)
def test_wrong_arguments_are_refused(wrong, problem):
    """Each names what is wrong; nothing is recorded."""
    editor = Editor()
    given = {"messages": [{"role": "user", "content": "x"}], **wrong}
    with pytest.raises((ValidationError, FormatError), match=problem):
        editor.edit(given.pop("messages"), **given)


@pytest.mark.parametrize("method", [Editor.withdraw, Editor.keep_warm])
def test_only_what_edit_gave_is_taken_back(method):
    """Anything else is refused by name."""
    with pytest.raises(ValidationError, match=r"request must be what edit\(\) gave, not None"):
        method(Editor(), None)


def test_names_may_hold_any_character():
    """Halves of characters, which a path may hold, name a session or a namespace as well as others."""
    editor, messages = Editor(), [{"role": "user", "content": "x"}]
    request = editor.edit(messages, session="a\ud800", namespace="b\udc80")
    assert editor.edit(messages, session="a\ud800", namespace="b\udc80").log == request.log
    assert editor.edit(messages, namespace="b").log != request.log


def test_a_store_that_cannot_be_is_refused(tmp_path):
    """A file is no store, and one conversation's address is none."""
    (tmp_path / "chat.jsonl").write_text("x")
    with pytest.raises(ValidationError, match="is a file"):
        Editor(tmp_path / "chat.jsonl")
    with pytest.raises(ValidationError, match="leave #one out"):
        Editor("sqlite:///chats.db#one")
    with pytest.raises(ValidationError, match="must be what edit"):
        Editor().report(3, {"input_tokens": 1})


@pytest.mark.parametrize("method", ["report", "stop_editing", "keep_warm", "withdraw"])
def test_a_request_of_another_store_is_refused(method, tmp_path):
    """Each says so, and nothing is written."""
    request = grown(Editor(policy=EAGER), worked("anthropic", 9))[-1]
    more = {"report": ({"input_tokens": 1},), "stop_editing": ("refused",)}.get(method, ())
    with pytest.raises(ValidationError, match="of another store than"):
        getattr(Editor(tmp_path / "other"), method)(request, *more)
    assert not (tmp_path / "other").exists()


def test_what_was_not_followed_has_no_address():
    """The error says why there is no log."""
    editor = Editor()
    with pytest.raises(ExecutionError, match="the provider keeps the history"):
        editor.address_of(editor.edit(worked("anthropic", 3)[2:]))


def test_time_zero_is_a_time():
    """A message that was first seen at 0 keeps that time on a branch."""
    messages, editor = worked("anthropic", 3), Editor()
    editor.edit(messages, now=0)
    request = editor.edit([*messages[:2], {"role": "user", "content": "no"}, *messages[3:5]], now=99 * MINUTE)
    path = RecordTree(editor._histories.store.open(request.log, None)).path(request.record)
    times = [one.record.timestamp_ms for one in path if isinstance(one.record, MessageAdded)]
    assert times == [0, 0, 99 * MINUTE, 0, 0]


def test_offloading_needs_a_place():
    """R161: as for a conversation, an error at the start says what to pass; the transport and adapters say the same."""
    policy = Policy(rules=("offload_results",), words=EN)
    for make in (Editor, RedlineTransport, AsyncRedlineTransport):
        with pytest.raises(ValidationError, match=r"moves results to blobs.*blobs="):
            make(policy=policy)


# --- any history


@tries(30)
@given(st.data())
@pytest.mark.parametrize("format", FORMATS)
def test_bytes_of_what_is_not_struck_are_the_callers(format, data):
    """Whatever the list: restarts, branches and other spellings in between, what is sent is the caller's own but for strikes,
    and an editor that starts anew over the same store gives the same."""
    messages = data.draw(conversations(format, max_steps=8))
    policy = Policy(rules=("stale_terminal", "historical_reads", "masked_results"), schedule="eager", words=EN)
    editor = Editor(policy=policy)
    for step in range(data.draw(st.integers(1, 5))):
        end = data.draw(st.integers(1, len(messages)))
        spacing = data.draw(st.sampled_from([(",", ":"), (", ", ": "), (" ,  ", " : ")]))
        sent = [json.dumps(message, separators=spacing).encode() for message in messages[:end]]
        request = editor.edit(sent, format=format, now=step * 20 * MINUTE)
        struck = {strike.index for strike in request.strikes}
        for position, payload in request.pieces:
            if position is not None and position not in struck and not request.repairs:
                assert payload is sent[position]
        if not request.strikes and not request.repairs:
            assert not request.is_changed


@pytest.mark.parametrize("format", FORMATS)
def test_recall(format):
    """A struck result by the request whose stub names it; an offloaded one by its reference alone."""
    rules = [Faded(0, recall_tool="recall"), OffloadResults(min_chars=5_000)]
    with Editor(policy=Policy(rules=rules, words=EN, schedule="eager"), blobs=MemoryBlobs()) as editor:
        log = "".join(f"line {number}\n" for number in range(1_000))
        turns = [says("user", "Go on."), *asks("Bash", {"command": "make"}, log, id="call_0")]
        for number in range(8):
            turns += asks("Read", {"file_path": f"/{number}.py"}, f"text {number} " * 60, id=f"call_{number + 1}")
        request = grown(editor, conversation(format, turns), format=format, model=MODEL)[-1]
        stubs = {text for strike in request.strikes if (text := str(strike.replacement)) and 'reference="' in text}
        struck = next(text for text in stubs if "#" in text)
        assert editor.recall(struck, request=request).startswith("text ")
        assert editor.recall(next(text for text in stubs if "line 0" in text), lines="-1") == "line 999"
        for wrong in ({"reference": "#2.0"}, {"reference": "#999.0", "request": request}, {"reference": "none"}):
            with pytest.raises(redline.RedlineError):
                editor.recall(**wrong)


def test_recall_without_blobs_says_what_is_missing():
    with pytest.raises(ExecutionError, match=r"names no part of the record, such as #12\.0, and there are no blobs"):
        Editor().recall("the first one")


def test_a_message_that_comes_again_broken_is_repaired():
    """What is sent is the caller's own message only where a provider takes it: the type of a call was lost on the way."""
    call = {"id": "c1", "type": "function", "function": {"name": "Read", "arguments": '{"file_path":"/srv/a.py"}'}}
    asked = [{"role": "user", "content": "fix it"}, {"role": "assistant", "content": "I look.", "tool_calls": [call]}]
    broken = {**asked[1], "tool_calls": [{name: value for name, value in call.items() if name != "type"}]}
    editor = Editor()
    editor.edit(asked, format="openai_chat")
    again = editor.edit([asked[0], broken, {"role": "tool", "tool_call_id": "c1", "content": "x = 1"}], format="openai_chat")
    assert redline.check(again.messages, format="openai_chat") == []
    assert [message["role"] for message in again.messages] == ["user", "assistant", "tool"]


def gemini_step(call_id, result_id):
    ids = [{} if one is None else {"id": one} for one in (call_id, result_id)]
    return [
        {"role": "user", "parts": [{"text": "Look"}]},
        {"role": "model", "parts": [{"functionCall": {"name": "Read", "args": {}} | ids[0]}]},
        {"role": "user", "parts": [{"functionResponse": {"name": "Read", "response": {"output": "x"}} | ids[1]}]},
    ]


IDS = [("a", "a"), ("a", None), (None, "a"), ("a", "b"), (None, None)]


@pytest.mark.parametrize("first", IDS)
@pytest.mark.parametrize("then", IDS)
def test_ids_that_clients_invent_must_still_match(first, then):
    """The ids themselves do not count; that a result answers no call does, whichever came first."""
    editor = redline.Editor()
    editor.edit(gemini_step(*first))
    again = [
        *gemini_step(*then),
        {"role": "model", "parts": [{"text": "Seen"}]},
        {"role": "user", "parts": [{"text": "Go on"}]},
    ]
    for messages in (gemini_step(*then), again, again):
        edited = editor.edit(messages)
        assert redline.check(edited.messages, format="gemini") == []
        assert edited.is_changed == bool(redline.check(messages, format="gemini"))


@pytest.mark.parametrize(("first", "then"), [("a", "b"), ("b", "a")])
def test_a_result_of_the_providers_must_still_answer_its_call(first, then):
    """The provider's ids do not count either, but that they match does."""

    def said(result_id):
        call = {"type": "server_tool_use", "id": "srvtoolu_a", "name": "web_search", "input": {"query": "x"}}
        result = {"type": "web_search_tool_result", "tool_use_id": f"srvtoolu_{result_id}", "content": []}
        return [
            {"role": "user", "content": "Look"},
            {"role": "assistant", "content": [call, result, {"type": "text", "text": "x"}]},
        ]

    editor = redline.Editor()
    editor.edit(said(first))
    edited = editor.edit(messages := [*said(then), {"role": "user", "content": "Go on"}])
    assert redline.check(edited.messages, format="anthropic") == []
    assert edited.is_changed == bool(redline.check(messages, format="anthropic"))
