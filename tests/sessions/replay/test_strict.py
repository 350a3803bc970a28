import pytest

from redline.sessions.replay.risk import Risk, risk_of, strict_uses_in
from redline.values.messages import Text
from tests.sessions.replay.recorded import past_strike, recorded, step

FILE = "     7→def parse_config(path):\n     8→    return Loader(path)  # see docs/config.md.\n"


def session(*more, told=FILE, **settings):
    turns = [("user", (Text("go"),)), *step(0, "Read", {"file_path": "/p/a.py"}, told), *more]
    return recorded([*turns, ("assistant", (Text("done"),))], **settings)


def says(words):
    return [("assistant", (Text(words),)), ("user", (Text("go on"),))]


def strict_risk(made, request=1):
    strikes = [past_strike(2, request, at=made.load(2).parts[0].at)]
    risk = risk_of(made, strict_uses_in(made), strikes)
    return Risk(risk.strikes, risk.requests)


@pytest.mark.parametrize(
    "words", ["parse_config", "I call `parse_config()`.", "see docs/config.md", "open ./docs/config.md, then"]
)
def test_a_distinctive_word_from_a_struck_result_is_a_risk(words):
    """The word alone is enough, whatever is around it; line numbers and punctuation are no part of it."""
    assert strict_risk(session(*says(words))) == Risk(1, 1)


@pytest.mark.parametrize("words", ["return", "path", "parse", "parse_configs", "Loader", "a.py"])
def test_other_words_are_none(words):
    """Plain words are said by chance; a word that is not in the result is from somewhere else."""
    assert strict_risk(session(*says(words))) == Risk()


@pytest.mark.parametrize("word", ["inner_1", "HTTPError", "utf8x", "v1.2.3", "a/b/c"])
def test_digits_signs_and_inner_capitals_make_a_word_distinctive(word):
    """Names, numbers, versions, paths."""
    [use] = strict_uses_in(session(*says(word), told=f"there is {word} in it"))
    assert (use.request, use.words) == (1, word)


def test_a_call_uses_words_too():
    """What an answer does counts as what it says."""
    made = session(*step(1, "Bash", {"command": "grep -rn 'parse_config' src"}, "nothing"))
    assert strict_risk(made) == Risk(1, 1)


@pytest.mark.parametrize("visible", [says("parse_config"), [("assistant", (Text("hm"),)), ("user", (Text("parse_config"),))]])
def test_what_is_still_visible_is_no_risk(visible):
    """The agent has said it itself before the strike, or the user has."""
    made = session(*visible, *says("parse_config"))
    assert strict_risk(made, request=2) == Risk()


def test_another_result_that_stays_is_enough():
    """Only if all results that hold the word are struck, it is a risk; the use names them all."""
    made = session(*step(1, "Bash", {"command": "cat b"}, "parse_config is here"), *says("parse_config"))
    [use] = strict_uses_in(made)
    assert {index for index, _ in use.holders} == {2, 4}
    assert strict_risk(made) == Risk()


def test_whoever_drops_messages_drops_words_too():
    """What the assistant said is visible as long as its message is; then it counts as a result does."""
    made = session(*says("parse_config"), *says("parse_config"))
    uses = strict_uses_in(made, drops_messages=True)
    result, answer = past_strike(2, 2), past_strike(3, 2)
    risks = [risk_of(made, uses, strikes) for strikes in ([result], [answer], [result, answer])]
    assert [(risk.strikes, risk.requests) for risk in risks] == [(0, 0), (0, 0), (2, 1)]


def test_of_many_that_hold_a_word_the_first_and_the_latest_count():
    """Where messages are dropped, a word that everything holds does not make the uses grow with the square of the session."""
    made = session(*(turn for _ in range(200) for turn in says("parse_config")))
    last = strict_uses_in(made, drops_messages=True)[-1]
    places = sorted(index for index, _ in last.holders)
    assert (places[0], places[-1], len(places)) == (2, made.requests[last.request].end - 2, 64)


def test_words_of_one_answer_from_one_result_are_one_use():
    """It says the first few."""
    words = " ".join(f"name_{number}" for number in range(9))
    assert [use.words for use in strict_uses_in(session(*says(words), told=words))] == ["name_0, name_1, name_2"]


def test_a_compaction_makes_everything_new():
    """What was told before it is not sent any more, and what was visible is not."""
    later = step(1, "Bash", {"command": "cat b"}, "parse_config is here")
    made = session(*says("parse_config"), *later, *says("parse_config"), compact_before=[4])
    assert [(use.request, {index for index, _ in use.holders}) for use in strict_uses_in(made)] == [(1, {2}), (3, {6})]


def test_text_that_is_no_unicode_does_no_harm():
    """A lone surrogate is a separator, as everything beyond ASCII is."""
    assert [use.words for use in strict_uses_in(session(*says("name_1"), told="\ud800name_1\udfff größe_2"))] == ["name_1"]


LONG = "make_total " * 60


def test_words_of_a_long_input_are_gone_with_it():
    """The assistant wrote them into a file, and says them again when the input was struck; a short text stays in sight."""
    turns = [("user", (Text("go"),)), *step(0, "Write", {"file_path": "src/other_file.py", "content": LONG}, "ok")]
    made = recorded([*turns, *says("so"), *says("make_total in src/other_file.py"), ("assistant", (Text("done"),))])
    strike = past_strike(1, 1, at=made.load(1).parts[0].at)
    [use] = [one for one in strict_uses_in(made) if one.request == 2]
    assert (use.words, {index for index, _ in use.holders}) == ("make_total", {1})
    assert risk_of(made, strict_uses_in(made), [strike]).requests == 1
    assert risk_of(made, strict_uses_in(made), []).requests == 0


def test_words_of_reasoning_are_gone_with_it():
    """A name that the assistant only thought of."""
    thought = {"type": "thinking", "thinking": "it must be parse_config", "signature": "s"}
    talk = [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": [thought, {"type": "text", "text": "hm"}]},
        {"role": "user", "content": "go on"},
        {"role": "assistant", "content": "parse_config"},
        {"role": "user", "content": "go on"},
        {"role": "assistant", "content": "x"},
    ]
    [use] = strict_uses_in(recorded((), messages=talk))
    assert (use.request, {index for index, _ in use.holders}) == (1, {1})
