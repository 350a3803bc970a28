"""What comes in is checked where it comes in; defaults do what a newcomer expects."""

import datetime
import gc
import json
import math
import threading
import weakref

import pytest

import redline
from redline import Conversation, ExecutionError, Policy, ValidationError
from redline.record.backends.memory import MemoryLog
from redline.record.records import UsageReported
from redline.rules import HistoricalReads, MaskedResults, OffloadResults, StaleTerminal
from redline.rules.rule import Mark, TimelessFold
from redline.testing import asks, conversation, says
from redline.tools import DEFAULT
from redline.values.words import EN

MINUTE = 60_000
HELLO = {"role": "user", "content": "hi"}
WRONG_TIMES = [datetime.datetime(2026, 1, 1), "noon", True, math.nan, math.inf, 10**400, b"1", [1]]


def commands(count, tool="terminal-execute"):
    turns = [
        asks(tool, {"command": "ls", "filePath": "a.py"}, f"out {number} " * 60, id=f"c{number}") for number in range(count)
    ]
    return conversation("openai_chat", [says("user", "go"), *(turn for pair in turns for turn in pair)])


# --- time


@pytest.mark.parametrize("wrong", WRONG_TIMES)
@pytest.mark.parametrize("address", [None, "chat.jsonl", "sqlite:///chats.db#x"])
def test_a_time_that_is_none_is_refused(tmp_path, monkeypatch, wrong, address):
    """With what is wrong and what to pass; nothing is written, and the log opens again (R2, R51)."""
    monkeypatch.chdir(tmp_path)
    talk = Conversation() if address is None else redline.open(address)
    talk.add(HELLO, timestamp_ms=1)
    for call in (
        lambda: talk.add(HELLO, timestamp_ms=wrong),
        lambda: talk.request(now=wrong),
        lambda: talk.request(now=wrong, schedule="when_free"),
        lambda: talk.preview(now=wrong),
        lambda: talk.request_at(0, now=wrong),
        lambda: talk.add_response({"role": "assistant", "content": "ok"}, timestamp_ms=wrong),
    ):
        with pytest.raises(ValidationError, match="milliseconds since 1970"):
            call()
    assert len(talk.all_messages) == 1
    talk.close()
    if address is not None:
        assert len(redline.open(address).all_messages) == 1


def test_a_conversation_has_a_clock():
    """`add` stamps, `request` needs nothing: the README's loop strikes what is old (R30)."""
    now = [0]
    talk = Conversation(clock=lambda: now[0])
    for message in commands(8):
        talk.add(message)
    assert talk.request().strikes == ()
    now[0] = 16 * MINUTE
    assert len(talk.request().strikes) == 3


def test_results_without_a_time_are_told(tmp_path):
    """Rules that go by age or order leave them alone, and `explain` says so (R30)."""
    path = tmp_path / "session.json"
    path.write_text(json.dumps(commands(7)))
    with redline.open(path) as talk:
        told = talk.request().explain()
    assert "7 results have no time" in told
    assert "no time" not in Conversation(commands(7)).request().explain()


def test_the_clock_is_checked_too():
    """A clock that gives no milliseconds is told apart from a time that was given (R2)."""
    with pytest.raises(ValidationError, match="the clock's time must be milliseconds"):
        Conversation(clock=lambda: datetime.datetime(2026, 1, 1)).add(HELLO)


def test_a_time_in_the_message_counts_before_the_clock():
    """The documents' own shape: `timestamp` inside."""
    talk = Conversation(clock=lambda: 10**12)
    for number, message in enumerate(commands(8)):
        talk.add({**message, "timestamp": number})
    assert len(talk.request(now=16 * MINUTE).strikes) == 3


# --- rules


class NoEquals:
    """A rule of somebody's own, without comparison."""

    name = "no_equals"

    def fold(self):
        return NoEqualsFold()


class NoEqualsFold(TimelessFold):
    def see(self, seen):
        if seen.result is not None and seen.index == 2:
            yield Mark("no_equals", seen.index, seen.result.at, "gone", "told so")


def test_rules_without_comparison_do_not_pile_up():
    """However many requests are made with a rule of their own, only what was worked out for the last two is kept (R18)."""
    talk, folds = Conversation(commands(4)), []
    for _ in range(20):
        rule = NoEquals()
        assert len(talk.request(rules=[rule]).strikes) == 1
        folds.append(weakref.ref(rule))
    del rule
    gc.collect()
    assert sum(one() is not None for one in folds) <= 2


def test_rules_that_have_no_hash_are_taken():
    """A rule may hold a list (R18)."""

    class Unhashable(NoEquals):
        __hash__ = None

        def __eq__(self, other):
            return isinstance(other, Unhashable)

    assert len(Conversation(commands(4)).request(rules=[Unhashable()]).strikes) == 1


@pytest.mark.parametrize("because", [None, 3, b"x"])
def test_a_mark_of_a_rule_of_ones_own_is_checked(because):
    """A reason that is none is refused when the mark is made, and the conversation goes on (R51)."""

    class Careless(NoEqualsFold):
        name = "careless"

        def fold(self):
            return self

        def see(self, seen):
            if seen.result is not None:
                yield Mark("careless", seen.index, seen.result.at, "gone", because)

    talk = Conversation(commands(4), log=MemoryLog())
    with pytest.raises(ValidationError, match=r"careless.*because"):
        talk.request(rules=[Careless()])
    assert talk.request(rules=[]).messages
    assert len(talk.strikes) == 0


def test_tools_of_ones_own_count_in_a_conversation():
    """By name, in any collection, and by a book (R12)."""
    for tools in ({"my-read"}, ["my-read"], ("my-read",), frozenset({"my-read"})):
        talk = Conversation(commands(7, tool="my-read"), project_root="/p")
        assert len(talk.request(rules=[HistoricalReads(tools=tools)]).strikes) == 2
    for tools in ({"my-shell"}, ["my-shell"]):
        talk = Conversation(clock=lambda: 0)
        for message in commands(7, tool="my-shell"):
            talk.add(message)
        assert len(talk.request(now=20 * MINUTE, rules=[StaleTerminal(tools=tools)]).strikes) == 2


def test_a_book_of_tools_counts_in_a_conversation():
    """A policy says once what the agent's own tools do (R12)."""
    book = DEFAULT.with_tool("my-read", reads="filePath")
    talk = Conversation(commands(7, tool="my-read"), policy=Policy(tool_book=book))
    assert len(talk.request().strikes) == 2


def test_rules_by_name_know_the_project():
    """Relative and absolute paths are one file, by name as by default (R13)."""
    paths = ["a.py", "/p/a.py", "./a.py", "/p/b/../a.py", "a.py", "/p/a.py", "a.py"]
    turns = [asks("filesystem-read", {"filePath": path}, f"text {n} " * 60, id=f"c{n}") for n, path in enumerate(paths)]
    history = conversation("openai_chat", [says("user", "go"), *(turn for pair in turns for turn in pair)])
    for rules in (None, ["historical_reads"], [HistoricalReads()]):
        assert len(Conversation(history, project_root="/p").request(rules=rules).strikes) == 2


# --- settings


@pytest.mark.parametrize(
    "wrong",
    [
        {"strategy": "nope"},
        {"project_root": 3},
        {"protection": "all"},
        {"policy": "daring"},
        {"policy": 3},
        {"model": 3},
        {"model": ""},
        {"system": 3},
        {"token_limit": -1},
        {"token_limit": "many"},
        {"format": "nope"},
        {"tools": [3]},
        {"clock": 5},
        {"counter": 3},
    ],
)
def test_settings_are_checked_when_a_conversation_is_made(tmp_path, wrong):
    """In memory and on disk; nothing is left open or made (R35)."""
    with pytest.raises(ValidationError):
        Conversation(**wrong)
    with pytest.raises(ValidationError):
        redline.open(tmp_path / "chat.jsonl", **wrong)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "wrong", [{"rules": "stale_terminal"}, {"rules": 3}, {"rules": ["nope"]}, {"schedule": "nope"}, {"words": "klingon"}]
)
def test_a_policy_is_checked_when_it_is_made(wrong):
    """A wrong setting is found before the first request (R35)."""
    with pytest.raises(ValidationError):
        Policy(**wrong)


def test_a_conversation_is_closed_by_its_block(tmp_path):
    """`with redline.open(…)` works, also in memory (R35)."""
    with redline.open(tmp_path / "chat.jsonl") as talk, Conversation() as other:
        talk.add(HELLO)
        other.add(HELLO)
    with redline.open(tmp_path / "chat.jsonl") as again:
        assert again.messages == [HELLO]


def test_what_is_printed_says_what_it_is(tmp_path):
    """A conversation and a request in one short line, without a password (R35)."""
    talk = redline.open(tmp_path / "chat.jsonl")
    talk.add(HELLO)
    assert repr(talk).startswith("<Conversation ")
    assert "1 messages" in repr(talk)
    assert repr(talk.request()) == "<Request: openai_chat, 1 messages, 0 strikes (0 new)>"
    assert len(repr(Policy())) < 2000


# --- schedule and model


def test_the_schedule_follows_the_model():
    """Nothing is known of prices without a model: at once. With one: when free. The documents' policy: at once (R32)."""
    assert Conversation([HELLO]).request().schedule == "eager"
    assert Conversation([HELLO], model="gpt-5.6").request().schedule == "when_free"
    assert Conversation([HELLO]).request(model="gpt-5.6").schedule == "when_free"
    assert Conversation([HELLO], model="gpt-5.6", policy=Policy.documents()).request().schedule == "eager"
    assert Conversation([HELLO], model="gpt-5.6").request(schedule="eager").schedule == "eager"
    talk = Conversation([HELLO])
    talk.request(model="gpt-5.6")
    assert talk.request().schedule == "when_free"


def test_explain_says_what_haste_costs():
    """Under `eager` with a known model: what has to be cached anew, and how to wait (R32)."""
    talk = Conversation(commands(9), policy=Policy.documents(), model="gpt-5.6", clock=lambda: 0)
    for message in commands(9):
        talk.add({**message, "timestamp": 0})
    told = talk.request(now=60 * MINUTE).explain()
    assert "Schedule: eager, at once: about" in told
    assert "when_free" in told


def test_one_setting_for_all_words():
    """The default is English; the documents' words are those of their policy."""
    for policy, words in ((None, EN), (Policy(), EN), (Policy.documents(), redline.ZH), (Policy(words=redline.ZH), redline.ZH)):
        talk = Conversation(commands(8), policy=policy, clock=lambda: 0)
        (strike, *_) = (
            talk.request(now=10**9 * MINUTE, rules=["masked_results"]).strikes
            or talk.request(now=2e13, rules=[MaskedResults(keep_recent=1)]).strikes
        )
        assert strike.replacement.startswith(words.masked_result.partition("{")[0])


@pytest.mark.parametrize(
    ("model", "format"), [("claude-sonnet-4-6", "anthropic"), ("gemini-3-pro", "gemini"), ("gpt-5.6", "openai_chat")]
)
def test_the_model_settles_the_format(tmp_path, model, format):
    """Plain words alone could be of any provider: breakpoints and the provider's own clearing work at once (R16)."""
    talk = redline.open(tmp_path / "chat.jsonl", model=model)
    talk.add(HELLO)
    assert talk.format == format
    talk.close()
    assert redline.open(tmp_path / "chat.jsonl").format == format


def test_the_format_can_be_named(tmp_path):
    """And is known when the conversation is opened again (R16)."""
    with redline.open(tmp_path / "chat.jsonl", format="anthropic") as talk:
        talk.add(HELLO)
        assert talk.request().with_breakpoints()
    with redline.open(tmp_path / "chat.jsonl") as again:
        assert again.format == "anthropic"


# --- numbers


def test_what_is_not_sent_is_not_counted():
    """A huge open call is left out of the request, and out of every number (R14)."""
    talk = Conversation([HELLO, *commands(1)[1:2]])
    talk.add({"role": "assistant", "content": "x " * 5000, "tool_calls": commands(1)[1]["tool_calls"]})
    request = talk.request()
    assert len(request.messages) == 1
    assert request.stats.tokens_after < 20
    assert talk.check_tokens() < 20
    assert "1 messages, about" in request.explain()


def test_struck_parts_that_are_hidden_save_nothing():
    """Tokens after never fall below what is sent (R14)."""
    talk = Conversation(commands(9), clock=lambda: 0)
    talk.request(now=2e12)
    talk.process({"operation": "truncate", "truncate": {"keep_last": 1}})
    stats = talk.request(now=2e12).stats
    assert 0 <= stats.tokens_after <= stats.tokens_before


def test_usage_is_taken_as_the_provider_counts_it():
    """Anthropic's input tokens leave the cached ones out; the limit counts them all (R15)."""
    told = []
    talk = Conversation([HELLO], token_limit=50_000)
    talk.on_token_limit(lambda used, limit: told.append((used, limit)))
    talk.record_usage(input_tokens=4, cache_read_tokens=51_000)
    assert talk.check_tokens() >= 51_004
    assert told
    talk.record_usage({"input_tokens": 4, "cache_read_input_tokens": 60_000, "output_tokens": 1})
    assert talk.check_tokens() >= 60_005


def test_one_hour_cache_writes_are_recorded():
    """As numbers, and as the provider reports them with an answer or after it."""
    log = MemoryLog()
    talk = Conversation([HELLO], log=log)
    talk.record_usage(input_tokens=900, cache_read_tokens=100, cache_write_tokens=700, cache_write_1h_tokens=600)
    split = {"ephemeral_5m_input_tokens": 100, "ephemeral_1h_input_tokens": 600}
    usage = {"input_tokens": 100, "cache_read_input_tokens": 100, "cache_creation_input_tokens": 700, "cache_creation": split}
    talk.record_usage(usage)
    talk.add_response(
        {"role": "assistant", "content": [{"type": "text", "text": "hm"}], "stop_reason": "end_turn", "usage": usage}
    )
    reported = [one.record for one in log.read() if isinstance(one.record, UsageReported)]
    assert reported == [UsageReported(900, 0, 100, 700, 600)] * 3


@pytest.mark.parametrize(
    "wrong", [{}, {"input_tokens": -1}, {"input_tokens": True}, {"input_tokens": "4"}, {"usage": 3}, {"usage": {}}]
)
def test_usage_that_is_none_is_refused(wrong):
    """Only whole numbers of at least 0, or what a provider reports (R15, R51)."""
    with pytest.raises(ValidationError):
        Conversation([HELLO]).record_usage(**wrong)


def test_usage_covers_the_answer_that_follows():
    """What was reported includes the reply, added before or after; only what is said then is estimated."""
    reply, more = {"role": "assistant", "content": "reply " * 500}, {"role": "user", "content": "more " * 100}
    before, after = Conversation([HELLO, reply]), Conversation([HELLO])
    for talk in (before, after):
        talk.record_usage(input_tokens=100, output_tokens=20)
    after.add(reply)
    assert before.check_tokens() == after.check_tokens() == 120
    before.add(more)
    assert 200 < before.check_tokens() < 300


def test_an_answer_that_says_nothing_is_no_end(tmp_path):
    """Models give empty answers now and then: the usage counts, no message is added, and the loop goes on (R34)."""
    talk = Conversation([HELLO], model="claude-sonnet-4-6")
    empty = {"type": "message", "role": "assistant", "content": [], "usage": {"input_tokens": 700, "output_tokens": 1}}
    assert talk.add_response(empty) == 0
    assert talk.check_tokens() >= 700
    talk.add(HELLO)
    assert len(talk.request().messages) == 2


# --- places


def test_compaction_is_stored_beside_its_origin(tmp_path):
    """A conversation on disk becomes another on disk; both are named, and both open again (R17)."""
    with redline.open(tmp_path / "chat.jsonl") as talk:
        for message in commands(6):
            talk.add(message)
        with talk.compact(lambda _: "short", keep_last=2) as other:
            assert other.name == str(tmp_path / "chat-2.jsonl")
            said = other.messages
        with talk.compact(lambda _: "short", keep_last=2, log=tmp_path / "mine.jsonl") as mine:
            assert mine.name == str(tmp_path / "mine.jsonl")
            assert mine.origin == str(tmp_path / "chat.jsonl")
    assert redline.open(tmp_path / "chat-2.jsonl").messages == said


@pytest.mark.parametrize("address", ["{}/fork.jsonl", "sqlite:///{}/chats.db#fork"])
def test_a_fork_goes_wherever_a_log_can_be(tmp_path, address):
    """An address is as good as a log; a place that is taken is refused (R17)."""
    where = address.format(tmp_path)
    talk = Conversation([HELLO])
    with talk.fork(where) as fork:
        fork.add(HELLO)
        assert fork.name == where
    assert len(redline.open(where).messages) == 2
    with pytest.raises(ExecutionError, match="already"):
        talk.fork(where)
    with Conversation([HELLO], log=tmp_path / "own.jsonl") as own:
        assert own.name == str(tmp_path / "own.jsonl")


def test_in_a_database_the_compacted_one_has_a_name_of_its_own(tmp_path):
    """Beside the old one in the same database (R17)."""
    with redline.open(f"sqlite:///{tmp_path}/chats.db#chat") as talk:
        for message in commands(6):
            talk.add(message)
        with talk.compact(lambda _: "short", keep_last=2) as other:
            assert other.name == f"sqlite:///{tmp_path}/chats.db#chat-2"


# --- threads and interruptions


@pytest.mark.parametrize("threads", [2, 10])
def test_threads_may_share_a_conversation(tmp_path, threads):
    """Every message is there after reopening, on one branch (R58)."""
    talk = redline.open(tmp_path / "chat.jsonl", durability="os")

    def work(name):
        for number in range(40):
            talk.add({"role": "user", "content": f"{name} {number}"})
            talk.request()

    workers = [threading.Thread(target=work, args=(number,)) for number in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    talk.close()
    again = redline.open(tmp_path / "chat.jsonl")
    assert len(again.messages) == threads * 40
    assert len(again.branches) == 1


def test_a_version_that_is_not_installed_is_no_problem(monkeypatch):
    """From a source path, without pip (R26)."""
    from importlib import metadata

    from redline.plugins import package_version

    def missing(name):
        raise metadata.PackageNotFoundError(name)

    package_version.cache_clear()
    monkeypatch.setattr(metadata, "version", missing)
    assert Conversation([HELLO]).request().messages == [HELLO]
    package_version.cache_clear()


class Down:
    """A blob store that cannot be reached."""

    def put(self, content):
        raise ExecutionError("connection refused")

    def get(self, reference):
        raise ExecutionError("connection refused")


def test_a_blob_store_that_is_down_costs_no_request(caplog):
    """The result goes out whole, and that is said; when the store is back it is moved (R11)."""
    talk = Conversation(commands(4), blobs=Down())
    request = talk.request(rules=[OffloadResults(min_chars=100, keep_recent=1, stub="[{reference}]")])
    assert request.strikes == ()
    assert request.messages == talk.messages
    assert {refusal.problem.law for refusal in request.refused} == {"no_blobs"}
    assert "connection refused" in request.explain()
    assert "sent whole" in caplog.text
