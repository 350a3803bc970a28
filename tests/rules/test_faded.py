"""What will hardly be used again goes, the rest stays."""

import math
import re

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from redline import EN, Conversation, Policy
from redline.errors import ValidationError
from redline.providers import FORMATS
from redline.record.blobs import MemoryBlobs
from redline.rules import OffloadResults
from redline.rules.faded import Faded
from redline.rules.results import kind_of_actions
from redline.rules.worth import (
    FEATURES,
    INPUT_KINDS,
    JUDGED_AGES,
    JUDGED_KINDS,
    FollowedPart,
    ResultFollower,
    WorthMemory,
    features_of,
    shipped_model,
)
from redline.rules.worth_words import NAME_SORTS, hashed_words
from redline.sessions.replay.under_policy import SessionSizes, strikes_under
from redline.testing import Turn
from redline.tools import Lists, Reads, Runs, Searches, Writes
from redline.values.messages import Message, Text, ToolCall
from tests.rules.folding import check_laws, histories, marked, marks_of, native, read, seen_in, step, steps
from tests.sessions.replay.test_under_policy import RULE, generated, live_strikes, replayed_strikes

DULL = "all is well and nothing of it matters to anybody\n" * 400
FILE = "\n".join(f"def make_part_{number}(src/part_{number}.py): return part_{number}.total" for number in range(400))


def later(count: int, first: int = 50) -> list[Turn]:
    """So many more steps, with results that are too short to go."""
    return [turn for number in range(count) for turn in step(first + number, "Bash", {"command": "true"}, "ok")]


def test_a_dull_result_goes_as_soon_as_it_was_seen_once():
    """Long output without a name in it cannot be missed, and what goes early costs nothing to strike."""
    turns = steps(("Bash", {"command": "make"}, DULL))
    assert marked(Faded(), turns) == []
    assert marked(Faded(), [*turns, *later(1)]) == [2]


def test_a_higher_penalty_keeps_results_longer():
    """What goes by a higher penalty goes by a lower one."""
    turns = [*steps(("Read", {"file_path": "a.py"}, FILE)), *later(30)]
    ages = [
        next((age for age in range(31) if marked(Faded(penalty), turns[: 3 + 2 * age])), None)
        for penalty in (0, 3_000, 30_000, 10**9)
    ]
    assert ages[-1] is None
    known = [age for age in ages if age is not None]
    assert known == sorted(known)
    assert len(set(known)) > 1
    assert set(known) <= set(JUDGED_AGES)


def test_words_said_since_are_safe():
    """A result whose names were all said by the assistant is less likely to be missed than one that still holds them."""
    turns = steps(("Read", {"file_path": "a.py"}, FILE))
    quoted: list[Turn] = [("assistant", (Text(FILE),)), ("user", (Text("and now"),))]
    silent: list[Turn] = [("assistant", (Text("so"),)), ("user", (Text("and now"),))]
    chances = [marks_of(Faded(0), read(native([*turns, *said, *later(30)])))[0].chance for said in (quoted, silent)]
    assert chances[0] < chances[1]  # type: ignore[operator]


def test_a_changed_file_makes_its_reads_due():
    """The read is judged when the edit's result is seen, whatever its age."""
    turns = [*steps(("Read", {"file_path": "a.py"}, FILE)), *later(3)]  # no age at which it is judged comes next
    edit = step(90, "Edit", {"file_path": "a.py", "old_string": "a", "new_string": "b"}, "done")
    rule = next(rule for rule in (Faded(100 * 1.2**power) for power in range(80)) if not marked(rule, turns))
    assert marked(rule, [*turns, *later(1, first=80)]) == []
    found = marks_of(rule, read(native([*turns, *edit])))
    assert [mark.index for mark in found] == [2]
    assert "its file changed since" in found[0].because


def test_a_changed_file_makes_long_inputs_due():
    """What was once written to a file is judged when the file is changed again, whatever its age."""
    write = ("Write", {"file_path": "a.py", "content": FILE})
    turns = [*steps((*write, "ok")), *later(3)]  # no age at which it is judged comes next
    edit = step(90, "Edit", {"file_path": "a.py", "old_string": "a", "new_string": "b"}, "done")
    rules = (Faded(100 * 1.2**power, inputs=True) for power in range(80))
    rule = next(rule for rule in rules if not marked(rule, turns))
    assert marked(rule, [*turns, *later(1, first=80)]) == []
    (found,) = marks_of(rule, read(native([*turns, *edit])))
    assert found.index == 1
    assert "its file changed since" in found.because


def test_how_often_a_conversation_comes_back():
    """A share of the assistant's turns; before any, a third of one is taken for granted."""
    assert WorthMemory().quote_rate == 1 / 3
    assert WorthMemory(step=7, turns_of_use=4).quote_rate == 0.5


def memory_after(turns: list[Turn]) -> WorthMemory:
    fold = Faded(10**9, inputs=True, placeholder="[gone]").fold()
    for seen in seen_in(read(native(turns))):
        assert list(fold.see(seen)) == []
    return fold.memory  # type: ignore[attr-defined,no-any-return]


def says_twice(text: str) -> list[Turn]:
    """Two turns of the assistant, each with these words, and one more."""
    return [turn for said in (text, text, "so") for turn in (("assistant", (Text(said),)), ("user", (Text("on"),)))]


def test_a_part_is_judged_at_each_age():
    """Counted from when it came, however late that was; after the last age it is no longer followed."""
    turns = [*steps(), *later(4, first=1000), *step(0, "Read", {"file_path": "a.py"}, FILE), *later(310)]
    follower, ages = ResultFollower(), []
    for seen in seen_in(read(native(turns))):
        judged = list(follower.judged_by(seen, may_go=True))
        ages += [follower.memory.step - one.step for one in judged if one.kind == "file read"]
    assert tuple(ages) == JUDGED_AGES
    assert "file read" not in {one.kind for one in follower.memory.results.values()}


def test_what_a_chance_is_worked_out_from():
    """Each feature of a part of each kind, by its name; what is not named here is zero."""
    memory = WorthMemory(step=4, tokens=3000, spoken=3, turns_of_use=1)
    age = math.log1p(3)
    names = math.log1p(2)
    common = {"size": math.log1p(100), "age": age, "all names": names, "all names, squared": names**2, NAME_SORTS[1]: names}
    common |= {"silence": math.log1p(2), "never mentioned": 1.0, "user spoke since": math.log1p(2)}
    common |= {"context": math.log1p(3), "quote rate": 2 / 7}
    aged = {"file read": "age of a read", "terminal": "age of a terminal"} | dict.fromkeys(INPUT_KINDS, "age of an input")
    for kind in JUDGED_KINDS:
        part = FollowedPart(0, 1, 2, 0, ("content", 0), 1, kind, 100, 1, 2, [0, 2, 0, 0])
        found = dict(zip(FEATURES, features_of(part, memory), strict=True))
        expected = common | {kind: 1.0} | ({aged[kind]: age} if kind in aged else {})
        assert {name: value for name, value in found.items() if value} == pytest.approx(expected)
    part.names, part.was_mentioned, part.is_changed = [0, -1, 0, 0], True, True
    found = dict(zip(FEATURES, features_of(part, memory), strict=True))
    assert [found[name] for name in ("no names", "all names", NAME_SORTS[1], "never mentioned")] == [1.0, 0.0, 0.0, 0.0]
    assert found["changed since"] == 1.0


@pytest.mark.parametrize(
    ("actions", "kind"),
    [
        ((), "other"),
        ((Runs("make"),), "terminal"),
        ((Runs("cat a"), Reads("a")), "file read"),
        ((Runs("cat a > b"), Reads("a"), Writes("b")), "terminal"),
        ((Writes("b"),), "edit"),
        ((Searches("x", (".",)),), "search"),
        ((Lists("a"),), "search"),
    ],
)
def test_the_kind_of_a_result(actions, kind):
    """A command that only shows files reads them; what does something else as well does that."""
    assert kind_of_actions(actions) == kind


def test_of_a_result_some_names_are_followed():
    """Those at its beginning."""
    turns = steps(("Bash", {"command": "x"}, " ".join(f"name_{number}" for number in range(500))))
    (result,) = memory_after(turns).results.values()
    assert sum(result.names) == 400


def test_a_word_is_used_once():
    """From then on it is in sight: saying it again comes back to nothing, and the result holds one name less, not two."""
    turns = steps(("Read", {"file_path": "a.py"}, "first_name and other_name"))
    memory = memory_after([*turns, *says_twice("it is first_name")])
    assert (memory.step, memory.turns_of_use) == (4, 1)
    (result,) = memory.results.values()
    assert (sum(result.names), result.mentioned, result.was_mentioned) == (1, 2, True)


def test_a_long_input_mentions_what_it_names():
    """The result that held the word is used by it, and the word is the input's from then on."""
    content = "first_name is well and nothing of it matters\n" * 40
    turns = steps(
        ("Read", {"file_path": "a.py"}, "first_name other_name"), ("Write", {"file_path": "b", "content": content}, "ok")
    )
    memory = memory_after([*turns, *later(1)])
    result, written, *_ = memory.results.values()
    assert (result.names, result.was_mentioned) == ([0, 1, 0, 0], True)
    assert (written.kind, written.names, memory.turns_of_use) == ("edit input", [0, 1, 0, 0], 1)


def test_words_of_a_later_result_are_its_own():
    """The earlier one no longer is the only one to hold them."""
    turns = steps(("Read", {"file_path": "a.py"}, "first_name other_name"), ("Bash", {"command": "x"}, "first_name"))
    assert [sum(result.names) for result in memory_after(turns).results.values()] == [1, 1]


def test_the_size_of_the_context_is_counted():
    """A token for every four characters of results, texts and long inputs."""
    turns = steps(("Bash", {"command": "x"}, "abcd" * 25), ("Write", {"file_path": "a", "content": "abcd" * 200}, "done"))
    said: list[Turn] = [("assistant", (Text("abcd" * 10),))]
    assert memory_after([*turns, *said]).tokens == 25 + 200 + 1 + 10


def test_the_reason_is_in_words_and_the_chance_is_on_the_mark():
    """Kind, age, when it was last mentioned, and the probability."""
    (mark,) = marks_of(Faded(), read(native([*steps(("Bash", {"command": "make"}, DULL)), *later(1)])))
    assert mark.because.startswith("terminal output, 1 request old, not mentioned since: ")
    assert "less than 1 % chance that it is used again" in mark.because
    assert mark.chance is not None
    assert 0 < mark.chance < 0.005
    (mark,) = marks_of(Faded(0), read(native([*steps(("Bash", {"command": "make"}, FILE)), *later(5)])))
    assert f": {mark.chance:.0%}"[:-1] + " % chance" in mark.because


def test_failures_and_the_latest_results_stay():
    """Failures whatever their chance; the latest as many as one says."""
    failed = step(1, "Bash", {"command": "make"}, "Error: exit code 1\n" + DULL, is_error=True)
    turns = [*steps(("Bash", {"command": "make"}, DULL)), *failed, *later(2)]
    assert marked(Faded(0), turns) == [2]
    assert marked(Faded(0, keep_recent=3), turns) == []


def test_protected_parts_stay_in_a_conversation():
    """Pins, and tools that are protected."""
    messages = native([*steps(("Bash", {"command": "make"}, DULL)), *later(3)])
    policy = Policy(rules=(Faded(0),), schedule="eager")
    assert [one.rule for one in Conversation(messages, policy=policy).request(now=10**6).new_strikes] == ["faded"]
    pinned = Conversation(messages, policy=policy)
    pinned.pin(2)
    assert pinned.request(now=10**6).new_strikes == ()


@pytest.mark.parametrize("place", [3, 7, 12])
def test_a_fold_goes_on_from_its_memory(place):
    """Stored as JSON in mid-conversation and taken up by a fresh fold, it marks what one marks that saw it all."""
    asked = [("Read", {"file_path": f"{number}.py"}, FILE[number * 50 :]) for number in range(6)]
    parts = seen_in(read(native([*steps(*asked), *later(12)])))
    whole, first, second = (Faded(0).fold() for _ in range(3))
    expected = [mark for seen in parts for mark in whole.see(seen)]
    found = [mark for seen in parts[:place] for mark in first.see(seen)]
    second.memory = msgspec.json.decode(msgspec.json.encode(first.memory), type=WorthMemory)  # type: ignore[attr-defined]
    assert found + [mark for seen in parts[place:] for mark in second.see(seen)] == expected != []


@given(histories(), st.sampled_from([0, 1_000, 10**6]), st.booleans(), st.sampled_from([None, "recall"]))
def test_laws(messages: list[Message], penalty: int, inputs: bool, recall_tool: str | None):
    """Errors stay, nothing grows, twice is once, and marks that were made stay made as the view grows."""
    rule = Faded(penalty, inputs=inputs, recall_tool=recall_tool)
    marks = check_laws(rule, messages)
    half = marks_of(rule, messages[: len(messages) // 2])
    assert half == marks[: len(half)]


WRITTEN = "all is well and nothing of it matters\n" * 40


def test_a_long_input_goes_and_what_is_short_in_it_stays():
    """Only where one asks for it; a path is still there, and where a list of edits is long, its short ones."""
    edits = [{"old": "a", "new": WRITTEN}, {"old": "b", "new": "c"}]
    turns = [*steps(("MultiEdit", {"file_path": "a.py", "edits": edits}, "ok")), *later(2)]
    assert marked(Faded(0), turns) == []
    (mark,) = marks_of(Faded(0, inputs=True, words=EN), read(native(turns)))
    left = {"file_path": "a.py", "edits": [{"old": "a", "new": EN.faded_input}, {"old": "b", "new": "c"}]}
    assert (mark.index, mark.replacement) == (1, left)
    assert mark.because.startswith("what was written to a file, 1 request old")


@pytest.mark.parametrize("format_name", sorted(FORMATS))
def test_a_long_input_goes_in_every_format(format_name):
    """As the provider holds inputs; the request stays legal."""
    turns = [*steps(("Write", {"file_path": "a.py", "content": WRITTEN}, "ok")), *later(3)]
    policy = Policy(rules=(Faded(0, inputs=True),), schedule="eager", words=EN)
    request = Conversation(native(turns, format_name), format=format_name, policy=policy).request(now=10**6)
    assert [strike.rule for strike in request.new_strikes] == ["faded"]
    (call,) = FORMATS[format_name].read(request.messages[1]).calls
    assert call.arguments == {"file_path": "a.py", "content": EN.faded_input}


def test_free_text_gives_way_to_text():
    """A patch is no object, and does not become one."""
    items = [{"type": "message", "role": "user", "content": "go"}]
    for number, text in enumerate((f"*** Begin Patch\n*** Add File: a.py\n+{'well ' * 200}\n*** End Patch", "x", "y")):
        items += [
            {"type": "custom_tool_call", "call_id": f"c{number}", "name": "apply_patch", "input": text},
            {"type": "custom_tool_call_output", "call_id": f"c{number}", "output": "Done!"},
        ]
    policy = Policy(rules=(Faded(0, inputs=True),), schedule="eager", words=EN)
    sent = Conversation(items, policy=policy).request(now=10**6).messages
    assert [item["input"] for item in sent if "input" in item] == [EN.faded_input, "x", "y"]


def test_the_input_of_a_failed_call_stays():
    """It is what the failure is about."""
    failed = step(0, "Write", {"file_path": "a.py", "content": WRITTEN}, "Error: no such folder", is_error=True)
    assert marked(Faded(0, inputs=True), [*steps(), *failed, *later(9)]) == []


def test_what_was_struck_can_be_recalled():
    """The stub names a reference that leads to the result in the record, and what was recalled is not struck again."""
    turns = [*steps(("Bash", {"command": "make"}, DULL)), *later(2)]
    policy = Policy(rules=(Faded(0, recall_tool="recall"),), schedule="eager", words=EN)
    talk = Conversation(native(turns), policy=policy)
    stub = talk.request(now=10**6).messages[2]["content"][0]["content"]
    assert stub == f'[Tool result left out: Bash make, {len(DULL) // 1000} kB; recall(reference="#2.0")]'
    assert talk.recall(stub) == talk.recall("#2.0") == DULL
    assert talk.recall("#2.0", lines="1-1") == DULL.splitlines()[0]
    assert talk.recall("#1.0").startswith("{")  # the input of the call
    for wrong in ("#2.7", "#99.0"):
        with pytest.raises(ValidationError, match="There is nothing to read at"):
            talk.recall(wrong)
    back = [*turns, *step(60, "recall", {"reference": "#2.0"}, DULL), *later(3, first=70)]
    assert marked(Faded(0, recall_tool="recall"), back) == [2]
    assert marked(Faded(0), back) == [2, 8]


def test_memory_is_bounded():
    """Words and results that are followed do not add up for ever."""
    fold = Faded(10**9).fold()
    turns = [("Bash", {"command": "x"}, " ".join(f"name_{number}_{word}" for word in range(300))) for number in range(800)]
    for seen in seen_in(read(native(steps(*turns)))):
        list(fold.see(seen))
    memory: WorthMemory = fold.memory  # type: ignore[attr-defined]
    assert len(memory.words) <= 20_000
    assert len(memory.results) <= JUDGED_AGES[-1] + 1
    assert sum(map(len, memory.due.values())) <= JUDGED_AGES[-1] + 1


@pytest.mark.parametrize("name", ["careful", "balanced", "bold"])
@pytest.mark.parametrize("schedule", ["eager", "when_free"])
def test_replay_and_a_conversation_strike_the_same(name, schedule):
    """The same parts in the same requests for the same reasons."""
    policy = Policy(rules=Policy.named(name).rules, schedule=schedule)
    for seed in range(2):
        session = generated(seed, is_compacted=seed == 1)
        tried = replayed_strikes(session, policy)
        assert tried == live_strikes(session, policy)
        assert tried or name == "careful"


def test_the_model_that_ships_names_its_features_and_its_source():
    """Nothing in it that is not a feature, none left out, and where it comes from."""
    model = shipped_model()
    assert set(model.coefficients) == set(FEATURES)
    assert model.command == "python -m bench.fit_worth"
    assert model.source
    assert model.date
    assert len(model.calibration) == 10
    for predicted, observed, _ in model.calibration:
        assert abs(predicted - observed) <= max(0.03, predicted / 3)


def test_distinctive_words():
    """A digit, `_`, `/`, `.` or an inner capital, at least five characters; of a call the words of its whole input."""
    assert len(hashed_words(Text("plain Words well-known a.b make_it makeIt ./src/a.py 12345 src/a.py."))) == 4
    assert list(hashed_words(Text("src/ab make_it file.py 12345")).values()) == [0, 1, 2, 3]
    call = ToolCall("c", "t", {"a": [{"b": "make_it"}], "c": "other_one", "d": "long_one " * 50})
    assert len(hashed_words(call)) == 2
    assert len(hashed_words(call, are_long=True)) == 1


def test_an_offload_stub_is_recalled_whatever_its_preview_says():
    """Lines of the result that look like a reference to the record are not taken for one."""
    output = "see #2.0 and #0.0\n" * 200
    policy = Policy(rules=[OffloadResults(min_chars=100, preview_lines=2)], schedule="eager", words=EN)
    talk = Conversation(native(steps(("Bash", {"command": "x"}, output))), policy=policy, blobs=MemoryBlobs())
    stub = talk.request(now=10**6).messages[2]["content"][0]["content"]
    assert "#2.0" in stub
    assert talk.recall(stub, max_chars=None) == output


def test_careful_strikes_nothing_likely_and_nothing_new():
    """R105: no strike has more than 15 % chance of use, and each part was sent whole three times; `bold` does both."""
    found = {}
    for name in ("careful", "bold"):
        policy = Policy(rules=Policy.named(name).rules, schedule="eager")
        strikes = [one for seed in range(6) for one in strikes_under([policy], SessionSizes(generated(seed)), RULE)[0]]
        faded = [one for one in strikes if one.rule == "faded"]
        ages = [int(re.search(r", (\d+) requests? old", one.because)[1]) for one in faded]  # type: ignore[index]
        found[name] = max(one.chance or 0 for one in faded), min(ages)
    assert found["careful"][0] <= 0.15
    assert found["careful"][1] >= 3
    assert found["bold"][0] > 0.15
    assert found["bold"][1] < 3


@pytest.mark.parametrize("wrong", [{"max_chance": -0.1}, {"max_chance": "x"}, {"min_age": 0}, {"min_age": 1.5}])
def test_caps_are_checked(wrong):
    """A cap that is no share, and an age before the first request, are refused."""
    with pytest.raises(ValidationError, match=f"faded: .*{next(iter(wrong))}"):
        Faded(**wrong)


def test_what_is_written_anew_may_go_at_a_higher_chance():
    """In a request that finds no cache, whatever stays is paid in full once more: a part goes that would stay in a warm one,
    and its strike keeps its ground when the view moves."""
    turns = [*steps(("Read", {"file_path": "a.py"}, FILE)), *later(6)]
    rule = next(rule for rule in (Faded(1.1**power) for power in range(60, 200)) if not marked(rule, turns))
    policy = Policy(rules=[rule], schedule="when_free", words="en")

    def strikes(pause_ms: float) -> list[int]:
        talk, now = Conversation(policy=policy, model="claude-opus-4-6"), 0.0
        for message in native([*turns, *later(1, first=90)]):
            now += pause_ms if len(talk.messages) == len(turns) else 1_000.0
            talk.add(message)
            if message["role"] == "user":
                sent = talk.request(now=now)
        assert all("what stays is written anew" in one.why_now for one in sent.new_strikes)
        talk.process({"operation": "truncate", "truncate": {"keep_last": len(turns)}})
        assert not talk.request(now=now + 1_000.0).lifted
        return [one.index for one in sent.strikes]

    assert strikes(1_000.0) == []
    assert strikes(3_600_000.0) == [2]
