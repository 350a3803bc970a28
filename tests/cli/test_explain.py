import json

import pytest

import redline as library
from tests.cli.chat import Chat, places, write_branches, write_chat, write_hostile
from tests.cli.run import redline
from tests.cli.sample import write_session
from tests.cli.test_terminal import tricks_in
from tests.corpus import CORPUS, corpus_rows, needs_corpus


def explained(*arguments):
    done = redline("explain", *arguments, width=80)
    assert (done.returncode, done.stderr) == (0, "")
    return " ".join(done.stdout.split())


@pytest.mark.parametrize("kind", ["jsonl", "sqlite"])
def test_a_strike_is_explained_with_its_numbers_and_its_way_back(tmp_path, kind):
    """The line that it prints for undoing it does so."""
    address = write_chat(places(tmp_path)[kind])
    told = explained(address, 6)
    for words in (
        "the result of Bash, which runs make test2",
        "struck in request 12; first sent in request 3",
        "stale_terminal: Command output may go",
        "because command output older than 15 minutes, with 5 newer results",
        "168 → 8: 160 fewer in every request",
        "applied at once",
    ):
        assert words in told
    code = told.split("To undo it: ")[1].split(", or ")[0].replace("redline.open", "library.open")
    assert code == f'library.open("{address}").undo(2)'
    with library.open(address) as talk:
        talk.undo(2)
    assert "sent again: it was undone" in explained(address, 6)


def test_what_is_here_says_what_keeps_it(tmp_path):
    """A pin, an undo, a failure, what the user said; else that no rule marks it, and what the rules look for."""
    address = write_chat(places(tmp_path)["jsonl"])
    assert "a strike on it was undone" in explained(address, 2)
    assert "its message is pinned" in explained(address, 4)
    assert "it is what the user said; no rule of the policy marks it" in explained(address, 0)
    assert "historical_reads: Of each file the latest" in explained(address, 0)
    failed = Chat(tmp_path / "failed.jsonl")
    failed.say("user", "go")
    failed.step("Error: no rule", is_error=True)
    failed.step("Traceback (most recent call last):")  # R152: nobody flagged it
    failed.talk.close()
    for place in (2, 4):
        assert "it reports a failure, and the policy protects failures" in explained(tmp_path / "failed.jsonl", place)


def test_what_waits_is_told_with_the_reason_of_the_schedule(tmp_path):
    """Asked of the records, which stay as they are."""
    chat = Chat(tmp_path / "chat.jsonl")
    chat.say("user", "go")
    for _ in range(20):  # at a request a minute the cache stays warm, so that `when_free` holds what is marked
        chat.talk.add({"role": "user", "content": "on"})
        chat.step_without_strikes()
    chat.talk.close()
    before = (tmp_path / "chat.jsonl").read_bytes()
    waiting = json.loads(redline("explain", tmp_path / "chat.jsonl", "--json").stdout)["waiting"]
    assert waiting
    assert {one["rule"] for one in waiting} == {"stale_terminal"}
    told = explained(tmp_path / "chat.jsonl", waiting[0]["index"])
    assert "marked by stale_terminal" in told
    assert " ".join(waiting[0]["why"].split()) in told
    assert "Marked, and still sent" in explained(tmp_path / "chat.jsonl")
    assert (tmp_path / "chat.jsonl").read_bytes() == before


def test_a_summary_adds_up_by_rule(tmp_path):
    """How many, tokens, money, and the largest. Money is net, by the model of the bill where no usage was reported: each of
    these strikes was made at once in a warm cache, which costs more than it saves."""
    address = write_chat(places(tmp_path)["jsonl"])
    found = json.loads(redline("explain", address, "--json").stdout)
    (rule,) = found["rules"]
    assert (rule["rule"], rule["strikes"], rule["tokens"], rule["ended"]) == ("stale_terminal", 7, 7 * 160, 2)
    assert rule["saved_usd"] == pytest.approx(sum(strike["saved_usd"] for strike in found["largest"]))
    assert rule["saved_usd"] == pytest.approx(-0.0181209)
    assert len(found["largest"]) == 7
    told = explained(address)
    assert "Redline struck 7 parts (1,120 tokens)." in told
    assert "7 0 1,120 -$0.0181" in told


def test_a_part_is_named_by_its_place_or_its_number(tmp_path):
    """What is not there is an error that says what is."""
    address = write_chat(places(tmp_path)["jsonl"])
    by_place, by_number = (json.loads(redline("explain", address, place, "--json").stdout) for place in ("6:content.0", "6:0"))
    assert by_place == by_number
    assert (by_place["index"], by_place["at"], by_place["state"], by_place["first_request"]) == (6, "content.0", "struck", 3)
    for place, words in (("99", "no message"), ("x", "no message"), ("6:content.7", "it has content.0"), ("²", "no message")):
        done = redline("explain", address, place)
        assert (done.returncode, done.stdout, words in done.stderr) == (2, "", True)


def test_a_request_is_explained_as_it_was(tmp_path):
    """Before the strike the part is sent; before it was said, it is not there; a hidden one is said to be hidden."""
    address = write_branches(places(tmp_path)["jsonl"])

    def state(index, *options):
        return json.loads(redline("explain", address, index, "--json", *options).stdout)["state"]

    assert state(2, "--request", 2) == "sent"
    assert state(12, "--request", 2) == "not sent yet"
    assert state(2) == "hidden"


def test_an_agents_session_says_what_would_be(tmp_path):
    """Under a policy that is named; nothing is there to undo."""
    session = write_session(tmp_path / "s.jsonl", model="claude-opus-4-5")
    file = tmp_path / "redline.toml"
    file.write_text('schedule = "eager"\n[[rules]]\nname = "masked_results"\nkeep_recent = 1\n')
    told = explained(session, 2, "--policy", file)
    assert "would be struck under the policy" in told
    assert "used later" in told
    assert "undo" not in told
    assert "sent as it was said" in explained(session, 2, "--policy", "stale")


def test_nothing_said_reaches_the_terminal_as_more_than_text(tmp_path):
    """Reasons, replacements and calls are data."""
    address = write_hostile(tmp_path / "chat.jsonl")
    for places_asked in ([], [0, 1, 2, 4, 6, 20]):
        assert tricks_in(redline("explain", address, *places_asked, width=80).stdout) == []


@needs_corpus
@pytest.mark.parametrize("agent", ["claude-code", "codex", "opencode", "gemini-cli"])
def test_recorded_sessions_are_explained(agent):
    """The summary names strikes that explain themselves, and no size is negative."""
    path = max((CORPUS / row["path"] for row in corpus_rows(agent)), key=lambda one: one.stat().st_size)
    done = redline("explain", path, "--json", timeout=300)
    assert done.returncode == 0, done.stderr
    for strike in json.loads(done.stdout)["largest"]:
        assert strike["tokens_before"] > strike["tokens_after"] >= 0
    for strike in json.loads(done.stdout)["largest"][:1]:
        part = redline(
            "explain", path, f"{strike['index']}:{strike['at']}", "--json", "--request", strike["first"], timeout=300
        )
        assert json.loads(part.stdout)["strikes"][0]["number"] == strike["number"]
