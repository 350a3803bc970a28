import json
import subprocess
import sys

import pytest

from redline.cli.formatting import width_of
from tests.cli.chat import LINES, TRICK, Chat, places, write_branches, write_chat, write_hostile
from tests.cli.run import FROM_HERE, redline
from tests.cli.sample import write_session
from tests.cli.test_terminal import in_terminal, tricks_in
from tests.corpus import CORPUS, corpus_rows, needs_corpus


def shown(*arguments, **settings):
    done = redline("show", *arguments, width=80, **settings)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def block(text, index):
    """The lines of one message."""
    lines = text.splitlines()
    start = next(number for number, line in enumerate(lines) if line.lstrip().startswith(f"{index} ") and " · " in line)
    return "\n".join(lines[start : lines.index("", start)])


@pytest.mark.parametrize("kind", ["jsonl", "sqlite"])
def test_struck_parts_are_struck_and_say_why(tmp_path, kind):
    """With rule, reason, tokens, since when, and the number for undo; the log is only read."""
    address = write_chat(places(tmp_path)[kind])
    before = {file: file.read_bytes() for file in tmp_path.iterdir() if file.suffix == ".jsonl"}
    said = block(shown(address), 6)
    assert "~~ output 2" in said
    assert "╰ struck by stale_terminal: command output older than 15 minutes" in said
    assert "undo: 2" in said
    assert "→ 8 tokens" in " ".join(said.split())
    assert {file: file.read_bytes() for file in before} == before


def test_what_was_undone_is_not_struck_but_told(tmp_path):
    """An undone strike, and one that a pin ended."""
    text = shown(write_chat(places(tmp_path)["jsonl"]))
    for index, why in ((2, "it was undone"), (4, "its message was pinned")):
        said = " ".join(block(text, index).split())
        assert "~~" not in said
        assert "was struck from request" in said
        assert why in said
    assert "pinned" in block(text, 4).splitlines()[0]


def test_results_are_clamped_unless_all_is_asked_for(tmp_path):
    """Head and tail, and how much is between; calls are one line."""
    address = write_chat(places(tmp_path)["jsonl"])
    last = block(shown(address), 24)
    assert (last.count("output 11"), f"… {LINES - 9} lines …" in last) == (9, True)
    assert block(shown(address, "--full"), 24).count("output 11") == LINES
    assert "→ Bash runs make test11" in block(shown(address), 23)


def test_a_request_is_shown_as_it_was_sent(tmp_path):
    """Its messages and the strikes in force in it, no more."""
    address = write_chat(places(tmp_path)["jsonl"])
    first, last = shown(address, "--request", 2), shown(address, "--request", 12)
    assert ("~~" in first, "  4 user" in first, "  5 assistant" in first) == (False, True, False)
    assert "~~ output 2" in last
    wrong = redline("show", address, "--request", 99)
    assert (wrong.returncode, wrong.stdout, wrong.stderr) == (
        2,
        "",
        "redline: There is no request 99; there are 13, numbered from 0.\n",
    )


def test_what_the_repair_made_is_shown_as_such(tmp_path):
    """A call that never got its result is not sent, and the page says so."""
    chat = Chat(tmp_path / "chat.jsonl")
    chat.say("user", "go")
    chat.say("assistant", [{"type": "text", "text": "wait"}, {"type": "tool_use", "id": "t", "name": "Bash", "input": {}}])
    chat.say("user", "are you there?")
    chat.ask()
    chat.talk.close()
    text = shown(tmp_path / "chat.jsonl", "--request", 1)
    assert "repaired for the provider" in text
    assert "→ Bash" not in text
    assert "are you there?" in text
    assert "→ Bash" in shown(tmp_path / "chat.jsonl")


def test_a_batch_hides_what_was_before(tmp_path):
    """What the view does not show is marked in the record, and is not in the request."""
    address = write_branches(places(tmp_path)["jsonl"])
    assert "not sent any more" in block(shown(address), 3)
    last = redline("show", address, "--request", 99).stderr.split("there are ")[1].split(",")[0]
    assert "fix the" in shown(address, "--request", 1)
    assert "fix the" not in shown(address, "--request", int(last) - 1)


def test_an_agents_session_is_shown_with_what_a_policy_would_strike(tmp_path):
    """By a preset, by a file, or as it was sent."""
    session = write_session(tmp_path / "s.jsonl", model="claude-opus-4-5")
    file = tmp_path / "redline.toml"
    file.write_text('schedule = "eager"\n[[rules]]\nname = "masked_results"\nkeep_recent = 1\n')
    assert "would be struck by faded" in shown(session, "--policy", "bold")
    assert "would be struck" not in shown(session, "--policy", "stale")
    assert "would be struck by masked_results" in shown(session, "--policy", file)
    assert "would be struck" not in shown(session, "--policy", "sent")
    wrong = redline("show", session, "--policy", "nonsense")
    assert (wrong.returncode, wrong.stdout, "There is no policy named 'nonsense'" in wrong.stderr) == (2, "", True)


def test_messages_can_be_chosen(tmp_path):
    """By index, by place from the end, by tool, by strike."""
    address = write_chat(places(tmp_path)["jsonl"])

    def indices(*options):
        return [json.loads(line)["index"] for line in shown(address, "--json", *options).splitlines()]

    assert indices() == list(range(25))
    assert indices("--from", 3, "--to", 5) == [3, 4, 5]
    assert indices("--to", 5, "--last", 2) == [4, 5]
    assert indices("--struck")[:2] == [6, 8]
    assert indices("--tool", "Bash") == list(range(1, 25))
    assert indices("--tool", "none") == []
    assert "No message is what was asked for." in shown(address, "--tool", "none")


def test_json_has_the_whole_text_if_asked(tmp_path):
    """Without it, the beginning, and how long it is."""
    chat = Chat(tmp_path / "chat.jsonl")
    chat.say("user", "a" * 30_000)
    chat.talk.close()
    (short,), (full,) = (
        json.loads(shown(tmp_path / "chat.jsonl", "--json", *options))["parts"] for options in ([], ["--full"])
    )
    assert (len(short["text"]), short["length"], len(full["text"])) == (20_000, 30_000, 30_000)


@pytest.mark.parametrize("options", [(), ("--full",), ("--request", "3")], ids=" ".join)
def test_nothing_said_reaches_the_terminal_as_more_than_text(tmp_path, options):
    """No escape, no bidirectional mark, no null byte; no line is wider than the terminal."""
    text = shown(write_hostile(tmp_path / "chat.jsonl"), *options)
    assert tricks_in(text) == []
    assert "\\x1b[31mred" in text
    assert max(map(width_of, text.splitlines())) <= 80


def test_a_terminal_gets_struck_text(tmp_path):
    """In place of the marks, with no escape but for colors; none without colors."""
    address = write_chat(places(tmp_path)["jsonl"])
    colored = in_terminal("show", address, "--no-pager", "--from", 6, "--to", 6)
    assert "\x1b[2m\x1b[9m" in colored
    assert "~~" not in colored
    plain = in_terminal("show", address, "--no-pager", "--from", 6, "--to", 6, NO_COLOR="1")
    assert ("\x1b" in plain, "~~ output 2" in plain) == (False, True)


def test_several_sessions_are_refused(tmp_path):
    """One is shown at a time; what is not there is named."""
    for name in ("a", "b"):
        write_session(tmp_path / f"{name}.jsonl")
    done = redline("show", tmp_path)
    assert (done.returncode, done.stdout, "holds 2 sessions" in done.stderr) == (2, "", True)
    gone = redline("show", tmp_path / "gone.jsonl")
    assert (gone.returncode, gone.stderr.count("\n")) == (2, 1)
    other = redline("show", tmp_path / "a.jsonl", "--conversation", 4)
    assert (other.returncode, "There is no conversation 4" in other.stderr) == (2, True)


def test_hostile_words_are_whole_in_json(tmp_path):
    """Escaped as JSON does, and read back as they were."""
    first = shown(write_hostile(tmp_path / "chat.jsonl"), "--json").splitlines()[0]
    assert json.loads(first)["parts"][0]["text"] == TRICK


@needs_corpus
@pytest.mark.parametrize(
    "agent", ["claude-code", "codex", "opencode", "gemini-cli", "copilot-cli", "pi", "openhands", "swe-agent"]
)
def test_recorded_sessions_are_shown(agent):
    """Of each agent the largest, within 80 columns."""
    path = max((CORPUS / row["path"] for row in corpus_rows(agent)), key=lambda one: one.stat().st_size)
    done = redline("show", path, width=80, timeout=300)
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) > 10
    assert tricks_in(done.stdout) == []
    assert max(map(width_of, done.stdout.splitlines()[3:])) <= 80


def test_a_long_page_goes_through_the_pager(tmp_path):
    """Only on a terminal, only if it is long, and not if nobody wants it."""
    address, seen = write_chat(places(tmp_path)["jsonl"]), tmp_path / "seen"
    pager = tmp_path / "pager"
    pager.write_text(f"#!/bin/sh\n/bin/cat > {seen}\n")
    pager.chmod(0o700)
    paged(address, PAGER=str(pager))
    assert "~~ output 2" in seen.read_text(encoding="utf-8")
    for options in (["--no-pager"], ["--last", "1"]):
        seen.unlink(missing_ok=True)
        paged(address, *options, PAGER=str(pager))
        assert not seen.exists()
    redline("show", address, PAGER=str(pager))
    assert not seen.exists()


def paged(*arguments, **env):
    """Run `show` with a terminal at both ends."""
    code = "import pty, sys; sys.exit(pty.spawn(sys.argv[1:], lambda end: __import__('os').read(end, 65536)))"
    given = {
        "PATH": "",
        **FROM_HERE,
        "COLUMNS": "80",
        "LINES": "24",
        "TERM": "xterm",
        "PYTHONIOENCODING": "utf-8",
    }
    done = subprocess.run(
        [sys.executable, "-c", code, sys.executable, "-m", "redline", "show", *map(str, arguments)],
        env={**given, **env},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
