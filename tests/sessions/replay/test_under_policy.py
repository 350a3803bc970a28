import random
from dataclasses import dataclass, replace
from typing import ClassVar

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from redline import Conversation, Policy, read_transcript
from redline.errors import ValidationError
from redline.policy.policy import find_policy
from redline.policy.presets import PRESETS
from redline.prices import PRICE_RULES, Price
from redline.record.blobs import MemoryBlobs
from redline.record.reading import read_log_file
from redline.rules import Folded, LongResults, Mark, MaskedResults, TimelessFold
from redline.rules.protection import Protection
from redline.schedules import Budget, Decision, WhenFree
from redline.sessions.replay.history import histories_in, history_of_log
from redline.sessions.replay.under_policy import PolicyRun, SessionSizes, policy_schedule, strikes_under
from redline.testing import asks, conversation, says
from redline.tokens import Estimate, Remembered
from redline.tools import DEFAULT
from redline.values.messages import Text
from tests.corpus import corpus_path, corpus_rows, needs_corpus
from tests.effort import tries
from tests.partial_fold import COMMAND, PROGRESS, use_partial_fold
from tests.sessions.replay.recorded import Usage, recorded, step

MODEL = "claude-opus-4-6"
PRICE = Price(model="m", input=1.0, output=5.0, cache_read=0.1, cache_write=1.25, min_cached_tokens=0)
RULE = PRICE.rule()
COUNTER = Remembered(Estimate())
FILE = "import os\n" + "the_answer = compute_everything(42)\n" + "print(1)\n" * 60

EVERY_RULE = (
    "superseded_reads",
    "repeated_calls",
    "failed_inputs",
    LongResults(max_chars=800),
    "offload_results",
    MaskedResults(keep_recent=6),
)
POLICIES = {
    "documents, at once": Policy(schedule="eager"),
    "every rule, at once": Policy(
        rules=EVERY_RULE, schedule="eager", protection=Protection(tools={"Edit"}, paths=["*/2.py"], errors=False)
    ),
    "masking, by budget": Policy(rules=[MaskedResults(keep_recent=4)], schedule=Budget(6_000, 3_000, least_gain_tokens=300)),
    "every rule, by budget": Policy(rules=EVERY_RULE, schedule=Budget(5_000)),
    "documents, when free": Policy(),
    "every rule, when free": Policy(rules=EVERY_RULE),
    "masking, when free for an hour": Policy(rules=[MaskedResults(keep_recent=2)], schedule=WhenFree(lifetime_ms=3_600_000)),
}


def later(number):
    """Ten seconds between messages; after every thirty of them nobody says anything for twenty minutes."""
    time_ms = (number + 1) * 10_000.0
    return time_ms + 1_200_000.0 * (time_ms // 300_000)


_BANNER = "".join(f"this is line {number} of what every command of this project prints first\n" for number in range(8))


def generated(seed, *, steps=60, is_compacted=False, files=4, **recording):
    """A session of reads, commands and edits."""
    rng, turns, compact_before = random.Random(seed), [("user", (Text("go"),))], []
    for number in range(steps):
        if is_compacted and number == steps // 2:
            turns.append(("assistant", (Text("done"),)))
            compact_before.append(len(turns))
            turns.append(("user", (Text("what was said so far"),)))
        path, size = f"/p/{rng.randrange(files)}.py", int(20 * 40 ** rng.random())
        tool, arguments = rng.choice(
            [
                ("Read", {"file_path": path}),
                ("Bash", {"command": rng.choice(["make", "pytest -q", f"cat {path}"])}),
                ("Edit", {"file_path": path, "old_string": "a " * size, "new_string": "b"}),
            ]
        )
        failure = "Error: exit code 1\n" if rng.random() < 0.1 else ""
        words = "\n".join(f"word_{rng.randrange(99)} = {n}" for n in range(size))
        printed = _BANNER if tool == "Bash" else ""
        turns += step(number, tool, arguments, f"{failure}{printed}{words}")
        if rng.random() < 0.1:
            turns += [("assistant", (Text("done"),)), ("user", (Text("and now the next"),))]
    turns.append(("assistant", (Text("done"),)))
    return recorded(turns, every_ms=later, compact_before=compact_before, **recording)


def live_strikes(history, policy, rule=RULE):
    """What a conversation strikes that is led through the requests of a history, a new one for each window."""
    struck, talk = [], None
    for request in history.requests:
        if request.is_new_view:
            start = end = request.visible[0][0]
            talk = Conversation(
                policy=policy,
                model=request.model,
                format=history.format,
                counter=COUNTER,
                project_root=history.project_root,
                blobs=MemoryBlobs(),
            )
        for index in range(end, request.end):
            message = history.load(index)
            talk.add(message.native, timestamp_ms=message.timestamp_ms)
        end = request.end
        made = talk.request(now=request.time_ms, schedule=policy_schedule(policy, rule, None), model=request.model)
        struck += [
            (request.number, one.index + start, one.at, one.rule, one.because, one.replacement, one.why_now, one.tool)
            for one in made.new_strikes
        ]
    return sorted(struck, key=str)


def replayed_strikes(history, policy, rule=RULE):
    [found] = strikes_under([policy], SessionSizes(history, COUNTER), rule)
    fields = ("first", "index", "at", "rule", "because", "replacement", "why_now", "tool")
    return sorted((tuple(getattr(one, field) for field in fields) for one in found), key=str)


@pytest.mark.parametrize("policy", POLICIES.values(), ids=POLICIES)
@pytest.mark.parametrize("is_compacted", [False, True])
def test_strikes_are_those_of_a_conversation(policy, is_compacted):
    """Same messages, same times: the same parts go in the same requests, for the same reasons, by every schedule."""
    history = generated(7, is_compacted=is_compacted)
    assert sum(request.is_new_view for request in history.requests) == 1 + is_compacted
    struck = live_strikes(history, policy)
    assert struck
    assert replayed_strikes(history, policy) == struck


@pytest.mark.parametrize("preset", PRESETS)
@tries(3)
@given(seed=st.integers(0, 1_000), rule=st.sampled_from(list(PRICE_RULES.values())), is_compacted=st.booleans())
def test_strikes_of_a_preset_are_those_of_a_conversation(preset, seed, rule, is_compacted):
    """Whatever is said, at the prices of every rule."""
    history = generated(seed, steps=80, is_compacted=is_compacted)
    policy = find_policy(preset)
    assert replayed_strikes(history, policy, rule) == live_strikes(history, policy, rule)


@pytest.mark.parametrize("preset", PRESETS)
def test_every_preset_strikes_something(preset):
    """The comparison above is not one of nothing with nothing."""
    assert replayed_strikes(generated(7, steps=200), find_policy(preset))


def without_usage(history):
    """The history as if nothing had been reported of its sizes; a conversation is not told either."""
    requests = tuple(msgspec.structs.replace(request, usage=None) for request in history.requests)
    return replace(history, requests=requests, system="")


@needs_corpus
@pytest.mark.parametrize("agent", ["claude-code", "codex", "opencode", "pi"])
@pytest.mark.parametrize("preset", PRESETS)
def test_strikes_of_recorded_sessions_are_those_of_a_conversation(agent, preset):
    """Real files, with their interruptions and compactions, at the prices of one rule after the other."""
    rows = [row for row in corpus_rows(agent) if "hand-made-fixture" not in row["features"]]
    rules = list(PRICE_RULES.values())
    for number, row in enumerate(rows[::10]):
        for history in map(without_usage, histories_in(read_transcript(corpus_path(row)))):
            policy, rule = find_policy(preset), rules[number % len(rules)]
            wanted = [one[:4] for one in live_strikes(history, policy, rule)]
            assert [one[:4] for one in replayed_strikes(history, policy, rule)] == wanted


# --- when a mark is due


def reads(count, *, path="/p/a.py"):
    turns = [("user", (Text("go"),))]
    for number in range(count):
        turns += step(number, "Read", {"file_path": path}, FILE)
    return [*turns, ("assistant", (Text("done"),))]


def struck_by(policy, history, **more):
    return strikes_under([policy], SessionSizes(history, COUNTER), RULE, **more)[0]


def places(policy, history):
    return [(strike.index, strike.first) for strike in struck_by(policy, history)]


AT_ONCE = Policy.documents()


def test_a_strike_is_made_with_the_request_that_makes_it_due():
    """The sixth read of a file marks the first, before the request that shows the sixth."""
    [strike] = struck_by(AT_ONCE, history := recorded(reads(6)))
    assert (strike.index, strike.first, strike.end) == (2, 6, None)
    assert strike.tokens_saved == pytest.approx(SessionSizes(history).tokens[2], rel=0.2)


def test_time_makes_marks_due():
    """Command output goes out of date while nothing is said about it."""
    turns = [("user", (Text("go"),))]
    for number in range(8):
        turns += step(number, "Bash", {"command": "make"}, FILE)
    history = recorded([*turns, ("assistant", (Text("done"),))], every_ms=120_000.0)
    strikes = struck_by(AT_ONCE, history)
    assert [strike.index for strike in strikes] == [2, 4, 6]
    for strike in strikes:
        assert history.requests[strike.first].time_ms - history.load(strike.index).timestamp_ms > 900_000


def test_an_edit_supersedes_a_read():
    """With that rule a read may go once the file was changed."""
    turns = [("user", (Text("go"),)), *step(0, "Read", {"file_path": "/p/a.py"}, FILE)]
    turns += step(1, "Edit", {"file_path": "/p/a.py", "old_string": "1", "new_string": "2"}, "ok")
    history = recorded([*turns, ("assistant", (Text("done"),))])
    superseded = replace(find_policy("superseded"), schedule="eager")
    assert (places(AT_ONCE, history), places(superseded, history)) == ([], [(2, 2)])


def test_masking_leaves_the_last_ten():
    """Each result beyond the tenth marks the oldest."""
    masking = replace(find_policy("masking"), schedule="eager")
    assert [index for index, _ in places(masking, recorded(reads(12)))] == [2, 4]


def test_what_was_read_before_a_compaction_does_not_count_after_it():
    """A new window is a new view."""
    assert not places(AT_ONCE, recorded(reads(6), compact_before=[5]))


@pytest.mark.parametrize("policy", POLICIES.values(), ids=POLICIES)
def test_nothing_is_struck_twice_or_before_it_is_sent(policy):
    """A part is in force under one strike at a time, and first of a request that shows it."""
    history = generated(11, is_compacted=True)
    strikes = struck_by(policy, history)
    assert all(history.requests[strike.first].shows(strike.index) for strike in strikes)
    for request in history.requests:
        parts = [(strike.index, strike.at) for strike in strikes if strike.is_in_force(request.number)]
        assert len(set(parts)) == len(parts)


def test_paths_start_from_where_the_session_was():
    """`a.py` and `/p/a.py` are one file of an agent that ran in /p; a policy may say that it ran elsewhere."""
    turns = [("user", (Text("go"),))]
    for number in range(8):
        turns += step(number, "Read", {"file_path": ("/p/a.py", "a.py")[number % 2]}, FILE)
    history = recorded([*turns, ("assistant", (Text("done"),))], metadata={"cwd": "/p"})
    assert len(places(AT_ONCE, history)) == 3
    assert not places(replace(AT_ONCE, project_root="/q"), history)


# --- what happened besides, in a log


def perform(path, policy, script):
    """A conversation in which a script of what is said and done is gone through; its requests in their order."""
    made, now, talk = [], 0.0, Conversation(log=path, policy=policy, model=MODEL, counter=COUNTER, blobs=MemoryBlobs())
    with talk:
        for what, value in script:
            now += 10_000.0
            if what == "say":
                talk.add(value, timestamp_ms=now)
            elif what == "ask":
                made.append(talk.request(now=now))
            else:
                getattr(talk, what)(value)
    return made


def agent_of(path, policy, script):
    """The history of a conversation in which nothing was struck, and the requests of one that a policy led."""
    perform(path / "plain.jsonl", Policy(rules=(), schedule="when_free"), script)
    history = history_of_log(read_log_file(path / "plain.jsonl"))
    assert not history.strikes
    return history, perform(path / "struck.jsonl", policy, script)


def assert_same(policy, history, made):
    """Strikes and their ends are those of the conversation."""
    [found] = strikes_under([policy], SessionSizes(history, COUNTER), FIRST_RULE)
    new = {
        (number, one.index, one.at, one.rule, one.why_now)
        for number, one_made in enumerate(made)
        for one in one_made.new_strikes
    }
    assert {(one.first, one.index, one.at, one.rule, one.why_now) for one in found} == new
    ended = {(number, one.strike.number, one.because) for number, one_made in enumerate(made) for one in one_made.lifted}
    assert {(one.end, one.number, one.ended_because) for one in found if one.end is not None} == ended
    return found


FIRST_RULE = PRICE_RULES["0.1/1.25/5m"]


def script_of(turns):
    for payload in conversation("anthropic", turns):
        if payload["role"] == "assistant":
            yield "ask", None
        yield "say", payload


def read_turns(count, first=0):
    return [
        turn for number in range(first, first + count) for turn in asks("Read", {"file_path": "/p/a.py"}, FILE, id=f"t{number}")
    ]


MASKING = Policy(rules=[MaskedResults(keep_recent=3)])


@pytest.mark.parametrize("policy", [AT_ONCE, MASKING, replace(MASKING, schedule="eager")], ids=["documents", "free", "eager"])
def test_strikes_without_ground_are_lifted(tmp_path, policy):
    """The reads that made an older one superfluous are taken out of the view: it is sent again from then on."""
    script = [*script_of([says("user", "go"), *read_turns(14)])]
    script += [("process", {"operation": "truncate", "truncate": {"remove_last": 20}}), ("ask", None)]
    script += [*script_of([says("assistant", "so"), says("user", "on"), *read_turns(8, first=20), says("assistant", "done")])]
    found = assert_same(policy, *agent_of(tmp_path, policy, script))
    assert policy is MASKING or any(strike.end is not None and strike.ended_because for strike in found)


def test_pins_are_kept(tmp_path):
    """What the user pinned is struck under no policy; what is no longer pinned may be."""
    script = [*script_of([says("user", "go"), *read_turns(3)]), ("pin", 2), ("pin", 4)]
    script += [*script_of(read_turns(4, first=3)), ("unpin", 4), *script_of(read_turns(4, first=7)), ("ask", None)]
    found = assert_same(AT_ONCE, *agent_of(tmp_path, AT_ONCE, script))
    struck = {strike.index for strike in found}
    assert 2 not in struck
    assert 4 in struck


def test_pins_are_kept_after_a_rewind(tmp_path):
    """What was pinned on the way that was left is pinned on the branch, too."""
    script = [*script_of([says("user", "go"), *read_turns(4)]), ("pin", 2), ("rewind", 7)]
    script += [*script_of(read_turns(7, first=10)), ("ask", None)]
    history, made = agent_of(tmp_path, AT_ONCE, script)
    struck = {strike.index for strike in struck_by(AT_ONCE, history)}
    assert struck == {strike.index for strike in made[-1].strikes}
    assert struck
    assert 2 not in struck


# --- models


def test_usage_is_never_told_to_the_schedule():
    """It is that of requests with everything in them: what it teaches of the cache is not what the policy would have seen."""
    bare = generated(7)
    sizes = SessionSizes(bare, COUNTER)
    cold = [Usage(fresh_tokens=round(tokens), cache_write_tokens=1) for tokens in sizes.unstruck]
    policy = find_policy("masking")
    assert replayed_strikes(generated(7, usages=cold), policy) == replayed_strikes(bare, policy)


def thinking_history(model):
    """An agent that thinks before each of many commands; its last thoughts come long before the end."""
    messages = [{"role": "user", "content": "go"}]
    for number in range(40):
        thought = [{"type": "thinking", "thinking": f"step {number}", "signature": f"s{number}"}] if number < 20 else []
        call = {"type": "tool_use", "id": f"t{number}", "name": "Bash", "input": {"command": f"make {number}"}}
        result = {"type": "tool_result", "tool_use_id": f"t{number}", "content": FILE}
        messages += [{"role": "assistant", "content": [*thought, call]}, {"role": "user", "content": [result]}]
    messages.append({"role": "assistant", "content": "done"})
    return recorded((), messages=messages, model=model, every_ms=later)


BINDING = "claude-opus-5-5"
MASK_AT_ONCE = Policy(rules=[MaskedResults(keep_recent=3)], schedule="eager")


def test_a_model_that_binds_its_reasoning_is_struck_only_where_allowed():
    """Nothing before reasoning that is sent is changed, as in a conversation; another model lets all of it go."""
    bound, free = thinking_history(BINDING), thinking_history(MODEL)
    found = replayed_strikes(bound, MASK_AT_ONCE)
    assert found == live_strikes(bound, MASK_AT_ONCE)
    assert {index for _, index, *_ in found} < {index for _, index, *_ in replayed_strikes(free, MASK_AT_ONCE)}
    assert min(index for _, index, *_ in found) > 39


@pytest.mark.parametrize("model", ["my-own", None, MODEL])
def test_the_price_of_another_model_says_whether_it_binds_its_reasoning(model):
    """Whoever names a price asks what that model would have done with the session, whichever was asked."""
    history, price = thinking_history(model), msgspec.structs.replace(PRICE, model="my-own", binds_reasoning=True)
    indices = [strike.index for strike in struck_by(MASK_AT_ONCE, history, price=price)]
    assert indices == [strike.index for strike in struck_by(MASK_AT_ONCE, thinking_history(BINDING))]


def quoting_history():
    """A file is read, twelve commands follow."""
    turns = [("user", (Text("go"),)), *step(0, "Read", {"file_path": "/p/a.py"}, FILE)]
    for number in range(1, 13):
        turns += step(number, "Bash", {"command": "ls"}, f"a.py {number}\n" * 40)
    return recorded([*turns, ("assistant", (Text("done"),))])


def test_the_window_of_the_model_makes_room():
    """A request that does not fit is cut down, however warm the cache is."""
    history, small = quoting_history(), msgspec.structs.replace(PRICE, window_tokens=2_000)
    policy = Policy(rules=[MaskedResults(keep_recent=3)])
    assert not any("window" in one.why_now for one in struck_by(policy, history, price=PRICE))
    assert any("window" in one.why_now for one in struck_by(policy, history, price=small))


def test_prices_change_only_schedules_that_weigh_them():
    """The others strike the same at any price."""
    history = generated(7)
    for name in PRESETS:
        policy = find_policy(name)
        found = {str(replayed_strikes(history, policy, rule)) for rule in PRICE_RULES.values()}
        assert len(found) == 1 or policy.schedule != "eager"


def test_protection_and_the_book_of_tools_are_honoured():
    """A protected tool stays; a tool that only the user knows is what the book says."""
    turns = [("user", (Text("go"),))]
    for number in range(8):
        turns += step(number, "mine", {"where": "/p/a.py"}, FILE)
    history = recorded([*turns, ("assistant", (Text("done"),))])
    own_reads = Policy(rules=["historical_reads"], schedule="eager", tool_book=DEFAULT.with_tool("mine", reads="where"))
    assert not struck_by(replace(own_reads, tool_book=DEFAULT), history)
    assert [one.tool for one in struck_by(own_reads, history)] == ["mine"] * 3
    assert not struck_by(replace(own_reads, protection=Protection(tools={"mine"})), history)


def test_what_the_provider_clears_cannot_be_replayed():
    """The error says what to leave out."""
    with pytest.raises(ValidationError, match="Leave by_provider out"):
        struck_by(Policy(schedule=Budget(by_provider=True)), quoting_history())


@pytest.mark.parametrize("number", [0, 7, 13])
def test_a_single_request_is_as_it_would_have_been_sent(number):
    """Its strikes are those in force there, and the marks that wait are with it."""
    history = quoting_history()
    run = PolicyRun(Policy(rules=[MaskedResults(keep_recent=3)]), SessionSizes(history, COUNTER), RULE)
    made = run.request(number)
    struck = [one.number for one in run.strikes if one.is_in_force(number)]
    assert [strike.number for strike in made.strikes] == struck
    due = max(number - 3, 0)
    assert len(made.held) + len(struck) == due


# --- rules and schedules of one's own


@dataclass
class _WholeAndInside:
    """Marks the words inside each result, and a request later the result itself. It has no hash."""

    name: ClassVar[str] = "whole_and_inside"

    def fold(self):
        return _WholeAndInsideFold()


class _WholeAndInsideFold(TimelessFold):
    def __init__(self):
        self._last = None

    def see(self, seen):
        if seen.result is None:
            return ()
        whole, self._last = self._last, Mark("whole_and_inside", seen.index, seen.part.at, "", "old")
        inside = Mark("whole_and_inside", seen.index, seen.result.parts[0].at, "", "words")
        return (inside, whole) if whole is not None else (inside,)


class _EveryThird:
    name = "every_third"
    needs_ledger = True

    def decide(self, case):
        is_time = case.ledger.requests % 3 == 2
        return [Decision(mark, is_applied=is_time, why="it is time") for mark in case.pending]


@pytest.mark.parametrize("schedule", ["eager", _EveryThird()])
def test_rules_and_schedules_of_ones_own_are_replayed(schedule):
    """Nothing is saved twice: what was struck inside a part is gone when the part goes."""
    sizes = SessionSizes(quoting_history(), COUNTER)
    [strikes] = strikes_under([Policy(rules=[_WholeAndInside()], schedule=schedule)], sizes, RULE)
    assert {one.why_now for one in strikes} == {"applied at once" if schedule == "eager" else "it is time"}
    saved = sum(one.tokens_saved for one in strikes if one.index == 2)
    assert 0 < saved <= sizes.tokens[2]


def test_a_replay_writes_no_whole_results(tmp_path, monkeypatch):
    """What a policy leaves out of results is counted as if it were in a file."""
    use_partial_fold(monkeypatch)
    made = recorded([("user", (Text("go"),)), *step(0, "Bash", {"command": COMMAND}, PROGRESS), ("assistant", (Text("done"),))])
    policy = Policy(rules=[Folded(whole_in=tmp_path / "whole")])
    ((strike,),) = strikes_under([policy], SessionSizes(made), RULE, PRICE)
    assert strike.is_partial
    assert not (tmp_path / "whole").exists()
