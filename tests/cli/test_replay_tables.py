import pytest

from redline.cli.replay_tables import show_comparison, show_files
from redline.prices import PRICE_RULES
from redline.replay.comparison import Comparison, compare
from tests.replay.sessions import RULE
from tests.replay.test_comparison import long_session
from tests.replay.used_later import used_later

POLICIES = ("none", "documents", "careful")


def comparison(rules, count=1):
    made = Comparison()
    for _ in range(count):
        made.add(compare(long_session(), rules, POLICIES))
    return made


def test_each_file_has_a_line(capsys):
    """One heading, then a line for each file with its ratios and requests; one without requests has none."""
    outcome = compare(long_session(), {"rule": RULE}, POLICIES)
    files = {"sessions/a.jsonl": [outcome], "empty.jsonl": [], "b.jsonl": [outcome, outcome]}
    show_files(files, POLICIES, "rule")
    _, title, headings, *lines = capsys.readouterr().out.splitlines()
    ratio = outcome.outcomes["rule"]["careful"].cost / outcome.outcomes["rule"]["none"].cost
    assert title.endswith("file by file, at rule")
    assert headings == "careful requests session"
    assert [line.split() for line in lines] == [[f"{ratio:.3f}", "41", "a.jsonl"], [f"{ratio:.3f}", "82", "b.jsonl"]]


def test_policies_named_are_the_ones_told(capsys):
    """Where none of them is a preset that may be advised, the first that do something."""
    outcome = compare(long_session(), {"rule": RULE}, ("documents",))
    show_files({"a.jsonl": [outcome]}, ("none", "documents"), "rule")
    assert "documents requests session" in capsys.readouterr().out


def test_no_file_with_requests_no_heading(capsys):
    """A heading without a line says nothing."""
    show_files({"empty.jsonl": []}, POLICIES, "rule")
    assert capsys.readouterr().out == ""


def test_savings_are_told_against_what(monkeypatch, capsys):
    """The page says what 1.000 is, in tokens and where the price is known in dollars, and that rewriting is in it."""
    monkeypatch.setenv("COLUMNS", "80")
    made = comparison({"rule": RULE})
    show_comparison(made, POLICIES, {"rule": 2.0})
    shown = capsys.readouterr().out
    cost = made.as_json()["prices"]["rule"]["policies"]["none"]["cost"]
    assert f"1.000 is sending everything (`none`): {cost:,.0f} uncached input tokens (${2 * cost / 1e6:,.2f})." in shown
    assert "written to the cache again" in shown
    assert "rereads" in shown


def test_both_risks_and_the_kinds_of_tools_are_told(monkeypatch, capsys):
    """By strikes and by requests, as counted by hand; by kind for the presets and masking, in eighty columns.

    The cache is cold before each request, so that `when_free` strikes at once.
    """
    monkeypatch.setenv("COLUMNS", "80")
    policies, made = ("none", "masking", "documents", "bold"), Comparison()
    for _ in range(2):
        made.add(compare(used_later(every_ms=600_000.0), {"rule": RULE}, policies))
    show_comparison(made, policies, {})
    lines = capsys.readouterr().out.splitlines()
    rows = [line.split() for line in lines]
    assert ["masking", "10", "20.0%", "5.9%", "40.0%", "11.8%"] in rows
    assert [row for row in rows if row[:1] == ["masking:"]] == [
        ["masking:", "terminal", "6", "0.0%", "33.3%"],
        ["masking:", "file", "read", "2", "100.0%", "100.0%"],
        ["masking:", "search", "2", "0.0%", "0.0%"],
    ]
    assert not [line for line in lines if line.startswith("documents:")]
    assert max(map(len, lines)) <= 80


def test_the_presets_are_told_file_by_file(capsys):
    """Where they are compared, whatever else is."""
    policies = ("none", "masking", "careful", "bold")
    show_files({"a.jsonl": [compare(long_session(), {"rule": RULE}, policies)]}, policies, "rule")
    assert "careful bold requests session" in capsys.readouterr().out


@pytest.mark.parametrize(("count", "is_there"), [(1, False), (2, True)])
def test_columns_about_many_sessions_need_many(capsys, count, is_there):
    """How many sessions get dearer is not told of a single one."""
    show_comparison(comparison({"rule": RULE}, count), POLICIES, {})
    shown = capsys.readouterr().out
    assert ("dearer" in shown) is is_there
    assert ("2 sessions)" if is_there else "1 session)") in shown


def test_six_prices_fit_on_eighty_columns(monkeypatch, capsys):
    """No line is wider, and every price rule has its column."""
    monkeypatch.setenv("COLUMNS", "80")
    show_comparison(comparison(PRICE_RULES), POLICIES, {})
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[2].split() == [rule.rpartition("/")[0] for rule in PRICE_RULES]
