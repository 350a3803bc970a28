import json

import pytest

from redline.cli.formatting import width_of
from tests.cli.chat import places, write_branches, write_chat, write_hostile
from tests.cli.run import redline
from tests.cli.sample import write_session
from tests.cli.test_terminal import in_terminal, tricks_in
from tests.corpus import CORPUS, corpus_rows, needs_corpus


def compared(*arguments):
    done = redline("diff", *arguments, "--json")
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads(done.stdout)


@pytest.mark.parametrize("kind", ["jsonl", "sqlite"])
def test_the_record_is_compared_with_what_is_sent(tmp_path, kind):
    """Struck messages differ, runs of equal ones are folded; what was undone since was struck in the last request."""
    address = write_chat(places(tmp_path)[kind])
    found = compared(address)
    changed = [row for row in found["rows"] if "index" in row]
    assert {(row["a"], row["b"]) for row in changed} == {("sent", "struck")}
    assert [row["index"] for row in changed] == [2, 4, 6, 8, 10, 12, 14]
    assert all(row["tokens_a"] > row["tokens_b"] > 0 for row in changed)
    folded = [(row["from"], row["to"]) for row in found["rows"] if "from" in row]
    assert folded[0] == (0, 2)
    assert found["same_prefix_messages"] == 2


def test_two_requests_are_compared(tmp_path):
    """A strike between them ends the equal front; what came is new."""
    address = write_chat(places(tmp_path)["jsonl"])
    found = compared(address, "--requests", 6, 7)
    assert [(row["index"], row["a"], row["b"]) for row in found["rows"] if "index" in row] == [
        (4, "sent", "struck"),
        (13, "absent", "sent"),
        (14, "absent", "sent"),
    ]
    assert (found["a"]["number"], found["b"]["number"], found["same_prefix_messages"]) == (6, 7, 4)
    assert compared(address, "--last")["b"]["number"] == 12
    text = redline("diff", address, "--requests", 6, 7, width=80).stdout
    assert "Equal byte for byte up to message 3: the cache is good for about" in text
    assert "-    4 user" in text
    assert "+    4 user" in text
    assert "[stale_terminal]" in text


def test_a_request_that_only_grew_keeps_the_cache(tmp_path):
    """All of the first is the beginning of the second."""
    address = write_chat(places(tmp_path)["jsonl"])
    text = redline("diff", address, "--requests", 1, 2, width=120).stdout
    assert "All of the first is the beginning of the second" in text
    assert "\n-  " not in text


def test_two_policies_are_compared(tmp_path):
    """At one request, the last unless another is named."""
    session = write_session(tmp_path / "s.jsonl", model="claude-opus-4-5")
    file = tmp_path / "redline.toml"
    file.write_text('schedule = "eager"\n[[rules]]\nname = "masked_results"\nkeep_recent = 1\n')
    found = compared(session, "--policies", "sent", file)
    assert [row["index"] for row in found["rows"] if "index" in row] == [2]
    assert (found["a"]["policy"], found["b"]["policy"]) == ("sent", str(file))
    assert [row for row in compared(session, "--policies", "sent", file, "--request", 1)["rows"] if "index" in row] == []


def test_what_a_batch_hid_is_missing(tmp_path):
    """Messages that only the record has."""
    rows = compared(write_branches(places(tmp_path)["jsonl"]))["rows"]
    assert [row["index"] for row in rows if row.get("b") == "absent"] == [0, 1, 2, 3, 4]


@pytest.mark.parametrize(
    "options",
    [("--requests", "1", "99"), ("--requests", "1", "2", "--last"), ("--last", "--request", "1"), ("--policies", "sent", "no")],
    ids=" ".join,
)
def test_what_cannot_be_compared_is_refused(tmp_path, options):
    """In one line."""
    done = redline("diff", write_chat(places(tmp_path)["jsonl"]), *options)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)


def test_a_session_without_requests_has_nothing_to_compare(tmp_path):
    """It says so."""
    (tmp_path / "s.json").write_text('[{"role": "user", "content": "hi"}]')
    done = redline("diff", tmp_path / "s.json")
    assert (done.returncode, "0 requests" in done.stderr) == (2, True)


def test_nothing_said_reaches_the_terminal_as_more_than_text(tmp_path):
    """Within the width, and in colors only on a terminal."""
    address = write_hostile(tmp_path / "chat.jsonl")
    text = redline("diff", address, width=80).stdout
    assert tricks_in(text) == []
    assert max(map(width_of, text.splitlines())) <= 80
    assert "\x1b[31m-" in in_terminal("diff", address, "--no-pager")


@needs_corpus
@pytest.mark.parametrize("agent", ["claude-code", "codex", "opencode"])
def test_recorded_sessions_are_compared(agent):
    """The folded and the shown rows are all messages of both sides, once."""
    path = max((CORPUS / row["path"] for row in corpus_rows(agent)), key=lambda one: one.stat().st_size)
    done = redline("diff", path, "--json", timeout=300)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    rows = sum(row.get("count", 1) for row in found["rows"])
    assert rows == found["a"]["messages"] == found["b"]["end"]
