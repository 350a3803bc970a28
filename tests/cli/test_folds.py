"""Folded parts in the commands: as they are sent, with the reason and with nothing lost; told apart from what is struck."""

import json

import pytest

import redline as library
from redline.rules import Folded
from redline.testing import asks, conversation, says
from tests.cli.run import redline
from tests.folded_sessions import LISTING, MODEL, NOW, RULES, folded_log


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    """Two results are folded; older ones are struck later, those two among them."""
    return folded_log(tmp_path_factory.mktemp("logs") / "chat.jsonl")


def told(command, *arguments):
    """What a command prints, at 80 columns, with its breaks; no line is wider."""
    done = redline(command, *arguments, width=80)
    assert done.returncode == 0, done.stderr
    assert max(map(len, done.stdout.splitlines())) <= 80
    return done.stdout


def flat(text):
    """In one line."""
    return " ".join(text.split())


def test_a_folded_part_is_shown_as_it_is_sent(log):
    """In a request before its strike: the folded words, no struck ones, the reason, and where the lines are."""
    said = told("show", log, "--request", 7)
    assert "~~" not in said
    assert "[the line above 39 more times]" in said
    assert "[lines 2–31: as in the output of" in said
    assert "╰ folded: repeated lines; " in said
    assert flat(said).count("nothing lost") == 2
    assert "30 lines are in sight" in said
    assert "as in message 5; nothing lost" in flat(said)
    assert "Redline folded 2 parts (" in flat(said)


def test_a_strike_on_a_fold_is_shown_struck(log):
    """Both are named below it."""
    said = told("show", log, "--to", 2)
    assert "~~ Compiling the parser" in said
    assert "more times]" not in said
    assert "╰ folded: repeated lines" in said
    assert "╰ struck by masked_results" in said
    assert "Redline folded 2 parts (" in flat(said)
    assert ") and struck 4 parts (" in flat(said)


def test_messages_are_chosen_by_what_was_done(log):
    """`--struck` and `--folded`, or either."""

    def shown(*flags, request):
        found = redline("show", log, "--json", "--request", request, *flags).stdout.splitlines()
        return [json.loads(line)["index"] for line in found]

    assert shown("--struck", request=7) == []
    assert shown("--folded", request=7) == [2, 8]
    assert shown("--struck", request=17) == [2, 8, 11, 14]
    assert shown("--struck", "--folded", request=17) == [2, 8, 11, 14]


def test_explain_says_what_was_folded_and_what_references_lead_to(log):
    """For one part, and in the sums by rule."""
    part = flat(redline("explain", log, 8, "--request", 7, width=80).stdout)
    assert "now referred in request 7" in part
    assert "because 30 lines are in sight" in part
    assert "lost nothing" in part
    assert "lines 2–31: as in message 5, from its line 1 (the output of `Bash grep -rn parse src`)" in part
    assert "used later" not in part
    whole = json.loads(redline("explain", log, "--json").stdout)
    sums = {row["rule"]: (row["strikes"], row["folds"]) for row in whole["rules"]}
    assert sums == {"folded": (0, 2), "masked_results": (4, 0)}
    said = flat(told("explain", log))
    assert "Redline folded 2 parts (" in said
    assert "strikes and folds" in said
    would = told("explain", log, "--policy", "folded")
    assert "The policy `folded` would fold 2 parts (" in flat(would)
    assert "strike" not in would.splitlines()[0]


def test_log_and_diff_tell_them_apart(log):
    """The record of a request counts both; a folded message is told by its reason."""
    lines = redline("log", log, width=120).stdout
    assert ": 1 folded, " in lines
    assert ": 1 struck, " in lines
    compared = redline("diff", log, "--request", 7, width=120).stdout
    assert "[folded] repeated lines" in compared
    assert "[referred] 30 lines are in sight" in compared
    rows = json.loads(redline("diff", log, "--request", 17, "--json").stdout)["rows"]
    assert {row["b"] for row in rows if row.get("b")} == {"struck"}
    rows = json.loads(redline("diff", log, "--request", 7, "--json").stdout)["rows"]
    assert {row["b"] for row in rows if row.get("b")} == {"folded"}


def test_an_export_shows_both_forms(log):
    """As it is sent, and in a fold of the page as it was said."""
    page = redline("export", log, "--to", "html", "--request", 7).stdout
    assert "[the line above 39 more times]" in page
    assert page.count("As it was said") == 2
    assert "<del>" not in page
    text = redline("export", log, "--to", "markdown", "--request", 7).stdout
    assert text.count("As it was said") == 2
    assert LISTING.splitlines()[3] in text
    value = json.loads(redline("export", log, "--to", "json", "--request", 7).stdout)
    assert [one["does"] for one in value["strikes"]] == ["folded", "referred"]


def test_stats_and_explain_of_a_request():
    """Folds and strikes are counted apart; together they are what is not sent."""
    talk = library.Conversation(policy=library.Policy(rules=RULES, schedule="eager", words="en"), model=MODEL)
    listing = "\n".join(f"line {number} of a file that is long enough" for number in range(20))
    outputs = ["the same line again\n" * 40, listing, f"first\n{listing}", *("short" for _ in range(4))]
    calls = [asks("Bash", {"command": f"make {at}"}, text, id=f"c{at}") for at, text in enumerate(outputs)]
    turns = [part for call in calls for part in call]
    for message in conversation("anthropic", [says("user", "go"), *turns[:6]]):
        talk.add(message, timestamp_ms=NOW)
    first = talk.request(now=NOW)
    assert (first.stats.strikes, first.stats.folds, first.stats.struck_tokens) == (0, 2, 0)
    assert first.stats.folded_tokens == first.stats.tokens_before - first.stats.tokens_after > 0
    assert repr(first).endswith("0 strikes (0 new), 2 folds (2 new)>")
    report = first.explain()
    assert "  folded: 2 folded, " in report
    assert "Folded now, message 2: repeated lines; " in report
    assert "nothing lost. It was never sent, so that this costs nothing. Undo: 0." in report
    assert "Referred now, message 6: " in report
    assert "  lines 2–21: as in message 4, from its line 1 (the output of `Bash make 1`)." in report
    for message in conversation("anthropic", [says("user", "go"), *turns])[len(talk.messages) :]:
        talk.add(message, timestamp_ms=NOW)
    stats = talk.request(now=NOW).stats
    assert (stats.strikes, stats.folds) == (1, 2)
    assert stats.struck_tokens + stats.folded_tokens == stats.tokens_before - stats.tokens_after
    assert repr(talk).endswith("1 strikes, 2 folds>")


def test_lines_that_were_left_out_name_where_they_are():
    """A fold that leaves lines out says so, in `explain` and in the notes."""
    from redline.engine.fold_words import fate_of_words, wholes_named
    from redline.folds.fold import Output
    from redline.record.records import Strike

    text = "collected 900 items\n" + Output("", "", 'recall(reference="#4.0")').notice("898 lines of passed tests")
    fold = Strike(0, "folded", 4, (), text, "passed tests", 900, 40, is_fold=True, is_partial=True)
    assert wholes_named(fold) == ('recall(reference="#4.0")',)
    assert fate_of_words(fold) == 'lines left out, all of it: recall(reference="#4.0")'
    assert fold.may_be_missed
    assert Folded().name == fold.rule
