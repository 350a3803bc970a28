"""What every rule is."""

import dataclasses

import msgspec
import pytest

from redline.rules import DEFAULT_RULES, RULES, default_rules
from redline.rules.rule import TimelessFold
from redline.transcripts import read_transcript
from tests.corpus import corpus_path, corpus_rows, needs_corpus
from tests.rules.folding import check_laws


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


def test_time_means_nothing_to_most():
    """Their folds have nothing due."""
    assert list(TimelessFold().due(1e18)) == []


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
