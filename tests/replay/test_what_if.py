import random
from dataclasses import dataclass, replace
from typing import ClassVar

import msgspec
import pytest

from redline import Conversation, Policy, read_transcript
from redline.blobs import MemoryBlobs
from redline.errors import ValidationError
from redline.prices import Price
from redline.replay.comparison import compare
from redline.replay.session import sessions_in
from redline.replay.what_if import RiskCount, WhatIf, WhatIfMiss
from redline.rules import LongResults, Mark, MaskedResults, TimelessFold
from redline.rules.protection import Protection
from redline.schedules import Budget, Decision, WhenFree
from redline.tokens import Estimate, Remembered, count_message
from redline.tools import DEFAULT
from redline.values.messages import Text
from tests.corpus import corpus_path, corpus_rows, needs_corpus
from tests.replay.recorded import recorded, step

PRICE = Price(model="m", input=1.0, output=5.0, cache_read=0.1, cache_write=1.25, min_cached_tokens=0)
RULE = PRICE.rule()
COUNTER = Remembered(Estimate())
LINE = "the_answer = compute_everything(42)"
FILE = "import os\n" + f"{LINE}\n" + "print(1)\n" * 60

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


def generated(seed, *, steps=60, is_compacted=False, files=4):
    """A session of reads, commands and edits; after every thirty messages nobody says anything for twenty minutes."""
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
        turns += step(number, tool, arguments, failure + "\n".join(f"word_{rng.randrange(99)} = {n}" for n in range(size)))
        if rng.random() < 0.1:
            turns += [("assistant", (Text("done"),)), ("user", (Text("and now the next"),))]
    made = recorded([*turns, ("assistant", (Text("done"),))], every_ms=10_000.0, compact_before=compact_before)

    def later(time_ms):
        return time_ms + 1_200_000.0 * (time_ms // 300_000)

    messages = [msgspec.structs.replace(one, timestamp_ms=later(one.timestamp_ms)) for one in made.messages]
    requests = tuple(msgspec.structs.replace(one, time_ms=later(one.time_ms)) for one in made.requests)
    return replace(made, messages=tuple(messages), requests=requests)


def live_strikes(session, policy):
    """What a conversation strikes that is led through the requests of a session, a new one for each window."""
    start, struck = -1, []
    for number, request in enumerate(session.requests):
        if request.start != start:
            start = end = request.start
            talk = Conversation(
                policy=policy,
                model=PRICE,
                format=session.messages[0].format,
                counter=COUNTER,
                project_root=session.project_root,
                blobs=MemoryBlobs(),
            )
        for message in session.messages[end : request.end]:
            talk.add(message.native, timestamp_ms=message.timestamp_ms)
        end = request.end
        made = talk.request(now=request.time_ms)
        struck += [
            (number, one.index + start, one.at, one.rule, one.because, one.replacement, one.why_now, one.tool)
            for one in made.new_strikes
        ]
    return sorted(struck, key=str)


def tried_strikes(session, policy):
    found = WhatIf(session, COUNTER).try_policy(policy, RULE, price=PRICE).strikes
    fields = ("request", "position", "at", "rule", "because", "replacement", "why_now", "tool")
    return sorted((tuple(getattr(one, field) for field in fields) for one in found), key=str)


@pytest.mark.parametrize("policy", POLICIES.values(), ids=POLICIES)
@pytest.mark.parametrize("is_compacted", [False, True])
def test_strikes_are_those_of_a_conversation(policy, is_compacted):
    """Same requests, same prices: the same parts go in the same requests, for the same reasons, by every schedule."""
    session = generated(7, is_compacted=is_compacted)
    assert len({request.start for request in session.requests}) == 1 + is_compacted
    struck = live_strikes(session, policy)
    assert struck
    assert tried_strikes(session, policy) == struck


def without_usage(session):
    """The session as if nothing had been reported of its sizes; a conversation is not told either."""
    sizes = tuple(float(count_message(message, COUNTER).total) for message in session.messages)
    return replace(session, tokens=sizes, prefix_tokens=0.0, scale=1.0)


@needs_corpus
@pytest.mark.parametrize("agent", ["claude-code", "codex", "opencode", "pi"])
@pytest.mark.parametrize("policy", list(POLICIES.values())[2:], ids=list(POLICIES)[2:])
def test_strikes_of_recorded_sessions_are_those_of_a_conversation(agent, policy):
    """Real files, with their interruptions and compactions."""
    rows = [row for row in corpus_rows(agent) if "hand-made-fixture" not in row["features"]]
    for row in rows[::10]:
        for session in map(without_usage, sessions_in(read_transcript(corpus_path(row)))):
            wanted = [one[:4] for one in live_strikes(session, policy)]
            assert [one[:4] for one in tried_strikes(session, policy)] == wanted


def quoting_session(*, says=LINE):
    """A file is read, twelve commands follow, and then the agent says something."""
    turns = [("user", (Text("go"),)), *step(0, "Read", {"file_path": "/p/a.py"}, FILE)]
    for number in range(1, 13):
        turns += step(number, "Bash", {"command": "ls"}, f"a.py {number}\n" * 40)
    return recorded([*turns, ("assistant", (Text(says),))])


def test_a_miss_says_what_was_used_and_where():
    """Struck, then quoted: by both measures, with the words of each."""
    outcome = WhatIf(quoting_session()).try_policy(Policy(rules=["masked_results"], schedule="eager"), RULE)
    assert outcome.strikes[0].position == 2
    assert outcome.misses == (WhatIfMiss(0, 13, LINE, "quoted"), WhatIfMiss(0, 13, "the_answer, compute_everything", "strict"))
    assert outcome.quoted == outcome.strict == RiskCount(1, 1)
    assert outcome.cost_with_rereads > outcome.cost


def test_what_nobody_uses_is_no_miss():
    """The words were in the struck file, and nobody said them."""
    outcome = WhatIf(quoting_session(says="done")).try_policy(Policy(rules=["masked_results"], schedule="eager"), RULE)
    assert outcome.strikes
    assert outcome.misses == ()
    assert outcome.cost_with_rereads == outcome.cost


def test_costs_are_those_of_the_replay():
    """The same strikes cost the same; without rules, what everything costs."""
    session = generated(3, files=10**9)  # `compare` does not know that the engine keeps what was asked for again
    replayed = compare(session, {"r": RULE}, ["spec_eager", "masking_eager"], with_requests=True).outcomes["r"]
    trial = WhatIf(session)
    policies = {"none": (), "spec_eager": ("stale_terminal", "historical_reads"), "masking_eager": ("masked_results",)}
    for name, rules in policies.items():
        outcome, wanted = trial.try_policy(Policy(rules=rules, schedule="eager"), RULE), replayed[name]
        assert outcome.cost == pytest.approx(wanted.cost)
        assert (outcome.costs, outcome.sizes, outcome.rewrites) == (wanted.costs, wanted.sizes, wanted.rewrites)
        assert (outcome.quoted.strikes, outcome.quoted.requests) == (wanted.strikes_at_risk, wanted.requests_at_risk)
        assert outcome.cost_with_rereads == pytest.approx(wanted.cost + wanted.reread_cost)


def test_protection_and_the_book_of_tools_are_honoured():
    """A protected tool stays; a tool that only the user knows is what the book says."""
    turns = [("user", (Text("go"),))]
    for number in range(8):
        turns += step(number, "mine", {"where": "/p/a.py"}, FILE)
    trial = WhatIf(recorded([*turns, ("assistant", (Text("done"),))]))
    book = DEFAULT.with_tool("mine", reads="where")
    reads = Policy(rules=["historical_reads"], schedule="eager", tool_book=book)
    assert not trial.try_policy(replace(reads, tool_book=DEFAULT), RULE).strikes
    assert [one.tool for one in trial.try_policy(reads, RULE).strikes] == ["mine"] * 3
    assert not trial.try_policy(replace(reads, protection=Protection(tools={"mine"})), RULE).strikes


def test_a_model_that_binds_its_reasoning_refuses_strikes():
    """It says so in a sentence; where nothing is struck, there is nothing to refuse."""
    trial, bound = WhatIf(quoting_session()), msgspec.structs.replace(PRICE, binds_reasoning=True)
    policy = Policy(rules=["masked_results"], schedule="eager")
    assert trial.try_policy(policy, RULE, price=bound).refused.startswith("m binds its reasoning")
    assert not trial.try_policy(policy, RULE, price=PRICE).refused
    assert not trial.try_policy(Policy(rules=()), RULE, price=bound).refused


def test_what_the_provider_clears_cannot_be_tried():
    """The error says what to leave out."""
    with pytest.raises(ValidationError, match="Leave by_provider out"):
        WhatIf(quoting_session()).try_policy(Policy(schedule=Budget(by_provider=True)), RULE)


def test_the_window_of_the_model_makes_room():
    """A request that does not fit is cut down, however warm the cache is."""
    trial, small = WhatIf(quoting_session()), msgspec.structs.replace(PRICE, window_tokens=2_000)
    policy = Policy(rules=[MaskedResults(keep_recent=3)])
    assert not any("window" in one.why_now for one in trial.try_policy(policy, RULE, price=PRICE).strikes)
    assert any("window" in one.why_now for one in trial.try_policy(policy, RULE, price=small).strikes)


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
    weighs_requests = True

    def decide(self, case):
        is_time = case.ledger.requests % 3 == 2
        return [Decision(mark, is_applied=is_time, why="it is time") for mark in case.pending]


def test_rules_and_schedules_of_ones_own_are_tried():
    """Nothing is saved twice: what was struck inside a part is gone when the part goes."""
    session = quoting_session()
    trial = WhatIf(session)
    for schedule in ("eager", _EveryThird()):
        outcome = trial.try_policy(Policy(rules=[_WholeAndInside()], schedule=schedule), RULE)
        assert {one.why_now for one in outcome.strikes} == {"applied at once" if schedule == "eager" else "it is time"}
        saved = sum(one.saving for one in outcome.strikes if one.position == 2)
        assert 0 < saved <= session.tokens[2]
        assert min(outcome.sizes) > 0
