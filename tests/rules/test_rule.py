"""What every rule is."""

import copy
import dataclasses
import math
import re
from typing import ClassVar

import msgspec
import pytest

import redline.rules
from redline.agents.readers import read_transcript
from redline.errors import ValidationError
from redline.rules import DEFAULT_RULES, RULES, HistoricalReads, OldReasoning, default_rules, make_rules
from redline.rules.rule import Fold, Rule, TimelessFold
from redline.values.messages import Media, Text
from redline.values.words import EN, ZH, Placeholders
from tests.corpus import corpus_path, corpus_rows, needs_corpus
from tests.rules.folding import PIXEL, check_laws, marks_of, native, read, step, steps


@pytest.mark.parametrize("name", sorted(RULES))
def test_a_rule_is_a_frozen_value_with_its_settings_as_fields(name):
    """It works without settings, says its idea in its docstring, and has a field with a default for each setting."""
    rule = RULES[name]()
    assert rule.name == name
    assert rule == RULES[name]()
    assert len(str(type(rule).__doc__)) > 40
    assert rule.fold() is not rule.fold()
    for setting in dataclasses.fields(rule):
        assert setting.default is not dataclasses.MISSING
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(rule, setting.name, setting.default)


def test_two_rules_are_on_by_default():
    """Those of the documents, in their order, and for the project given."""
    rules = default_rules(project_root="/p")
    assert tuple(rule.name for rule in rules) == DEFAULT_RULES == ("stale_terminal", "historical_reads")
    assert rules[1].project_root == "/p"  # type: ignore[attr-defined]


def test_one_import_is_enough_to_write_a_rule():
    """The rules, what they are made of, and what they are shown come from `redline.rules`."""
    needed = {"DEFAULT_RULES", "RULES", "Fold", "Mark", "Protection", "Rule", "Seen", "TimelessFold", "make_rules"}
    assert needed | {rule.__name__ for rule in RULES.values()} <= set(redline.rules.__all__)


def test_time_means_nothing_to_most():
    """Their folds have nothing due."""
    fold = TimelessFold()
    fold.forget(1e18)
    assert list(fold.due(1e18)) == []


SETTINGS: dict[str, object] = {
    "max_age_ms": 5,
    "max_chars": 5000,
    "project_root": "/p",
    "tools": ["Read", "my-read"],
    "spared_tools": ["Read"],
    "spared_folds": ["repeated_lines"],
    "whole_in": "/wholes",
    "recall_tool": "back",
    "placeholder": "[gone]",
    "input_placeholder": "[cut out]",
    "notice": "[cut]",
    "stub": "[moved]",
    "words": EN,
}
"""One setting of each name that is neither a count nor a flag."""


def all_settings(rule: type[Rule]) -> dict[str, object]:
    found: dict[str, object] = {}
    for field in dataclasses.fields(rule):  # type: ignore[arg-type]
        flipped = not field.default if isinstance(field.default, bool) else 7
        found[field.name] = SETTINGS.get(field.name, flipped)
    return found


@pytest.mark.parametrize("name", sorted(RULES))
def test_rules_compare_and_hash_by_value(name):
    """Whatever collections their settings were given in (R18)."""
    settings = all_settings(RULES[name])
    listed = {key: tuple(value) if isinstance(value, list) else value for key, value in settings.items()}
    one, other = RULES[name](**settings), RULES[name](**listed)
    assert one == other != RULES[name]()
    assert len({one, other, copy.deepcopy(one), RULES[name]()}) == 2
    assert dataclasses.replace(one) == one


@pytest.mark.parametrize("name", sorted(RULES))
@pytest.mark.parametrize(
    "value", [-1, math.nan, math.inf, 1j, object(), b"x", {"a": 1}, [None], (), 10**400, 10**5000], ids=range(11)
)
def test_no_setting_takes_everything(name, value):
    """A value of another kind is an error that names the rule and the setting; what is taken works (R51)."""
    for field in dataclasses.fields(RULES[name]):  # type: ignore[arg-type]
        if field.name in ("tools", "spared_tools", "spared_folds") and value == ():
            RULES[name](**{field.name: value}).fold()
            continue
        with pytest.raises(ValidationError, match=f"{name}: .*{field.name}"):
            RULES[name](**{field.name: value})


@pytest.mark.parametrize("name", sorted(RULES))
@pytest.mark.parametrize("value", ["5", True, None])
def test_numbers_are_numbers(name, value):
    """Text, yes and nothing are none (R51)."""
    for field in dataclasses.fields(RULES[name]):  # type: ignore[arg-type]
        if isinstance(field.default, int | float) and not isinstance(field.default, bool):
            with pytest.raises(ValidationError, match=field.name):
                RULES[name](**{field.name: value})


# --- rules by name


def test_rules_are_made_for_a_project_and_in_one_language():
    """By name or as objects; what an object says itself stays (R13, R33)."""
    given = ["historical_reads", HistoricalReads(keep_recent=1), HistoricalReads(project_root="/own", words=ZH)]
    first, second, third = make_rules(given, words=EN, project_root="/p")
    assert first == HistoricalReads(project_root="/p", words=EN)
    assert second == HistoricalReads(1, "/p", words=EN)
    assert third is given[2]
    assert make_rules(["old_reasoning"], words=EN, project_root="/p") == (OldReasoning(),)
    assert make_rules(RULES) == tuple(rule() for rule in RULES.values())


@dataclasses.dataclass(frozen=True)
class OwnRule:
    """A rule of a user with settings of the usual names."""

    name: ClassVar[str] = "own"
    project_root: str = ""

    def fold(self) -> Fold:
        raise NotImplementedError


class PlainRule:
    """A rule of a user that is no dataclass."""

    name = "plain"
    project_root = ""

    def fold(self) -> Fold:
        raise NotImplementedError


def test_a_rule_of_a_user_is_made_for_the_project_too():
    """If it is a dataclass, which can be asked for its settings; any other is taken as it is (R13)."""
    plain = PlainRule()
    assert make_rules([OwnRule(), plain], project_root="/p", words=EN) == (OwnRule("/p"), plain)


@pytest.mark.parametrize(
    ("rules", "said"),
    [
        (["nothing"], "no rule named 'nothing'. Known are: stale_terminal, historical_reads"),
        ("historical_reads", "write .'historical_reads'."),
        (None, "must be a list of names or rules, not NoneType"),
        (5, "must be a list of names or rules, not int"),
        ([HistoricalReads], "write HistoricalReads()"),
        ([None], "A rule is a name"),
        ([object()], "A rule is a name"),
    ],
)
def test_what_is_no_rule_is_refused(rules, said):
    """The error says what to write (R35)."""
    with pytest.raises(ValidationError, match=re.escape(said) if "." not in said else said):
        make_rules(rules)


@pytest.mark.parametrize("settings", [{"words": "EN"}, {"project_root": None}])
def test_settings_for_all_rules_are_checked(settings):
    """Also where no rule would use them (R35)."""
    with pytest.raises(ValidationError, match=next(iter(settings))):
        make_rules([], **settings)


# --- the words


def struck_words(words: Placeholders | None) -> dict[str, str]:
    """By rule, what it leaves in the place of something."""
    picture = Media("image/png", PIXEL)
    turns = [
        *steps(*[("Read", {"file_path": "a.py"}, "content " * 99)] * 2, *[("Bash", {"command": "x"}, "output " * 99)] * 2),
        *step(7, "Edit", {"file_path": "a.py", "new_string": "x" * 999}, "Error: no"),
        *step(8, "Edit", {"file_path": "a.py"}, "done"),
        ("user", (Text("see"), picture)),
        *(("assistant", (Text("so"),)), ("user", (Text("and?"),))) * 9,
    ]
    strict = {"keep_recent": 1, "max_age_ms": 0, "min_chars": 300, "max_chars": 500, "until_read_again": False}
    found: dict[str, str] = {}
    for name, rule in RULES.items():
        names = {field.name for field in dataclasses.fields(rule)}  # type: ignore[arg-type]
        own = {key: value for key, value in strict.items() if key in names}
        made = make_rules([rule(**own)], words=words)
        for mark in marks_of(made[0], read(native(turns))):
            found[name] = str(mark.replacement)
    return found


def test_one_setting_changes_the_words_of_all_rules():
    """All that a rule leaves comes from the words (R33); folds keep to the language of the programs."""
    own = Placeholders(**{field.name: f"<{field.name}>" for field in dataclasses.fields(Placeholders)})
    english, documents = struck_words(EN), struck_words(None)
    assert documents == struck_words(ZH)
    assert english.keys() == RULES.keys() - {"old_reasoning", "folded"}, "struck_words needs a turn that it strikes"
    for name, said in struck_words(own).items():
        assert re.search(r"<\w+>", said), name
    assert not any(re.search("[一-龥]", said) for said in english.values())
    assert sum(bool(re.search("[一-龥]", said)) for said in documents.values()) == len(documents)


STRICT = {
    "stale_terminal": {"max_age_ms": 0},
    "long_results": {"max_chars": 2000},
    "old_reasoning": {"bound_too": True},
    "offload_results": {"min_chars": 3000},
}
"""Settings under which a rule has more to do."""

ONE_OF_EACH = {row["format"]: row for row in corpus_rows()}


@needs_corpus
@pytest.mark.corpus
@pytest.mark.parametrize("format_name", sorted(ONE_OF_EACH))
def test_the_laws_hold_for_recorded_sessions(format_name):
    """Errors stay, nothing grows and twice is once, for every rule and every agent."""
    for conversation in read_transcript(corpus_path(ONE_OF_EACH[format_name])):
        entries = conversation.entries[:500]
        dated = [msgspec.structs.replace(entry.message, timestamp_ms=entry.timestamp_ms) for entry in entries]
        for name, rule in RULES.items():
            check_laws(rule(**STRICT.get(name, {})), dated)
