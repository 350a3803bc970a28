"""`redline tools`: sizes from Redline's logs, calls from any session, and how to switch off what is never called."""

import json

from redline import Editor
from redline.providers.answers import Answer
from redline.providers.usage import Usage
from redline.transport.editing import Call, WireEditor
from tests.cli.run import redline
from tests.cli.sample import write_session
from tests.transport.test_holdout import PATHS, messages

TOOLS = [
    {"name": name, "description": "words " * size, "input_schema": {"type": "object"}}
    for name, size in (("Bash", 10), ("Read", 10), ("TodoWrite", 20), ("mcp__docs__search", 300))
]


def filled(folder, usage):
    """Three requests that offer four tools, of which one is called."""
    with Editor(folder, policy="careful") as editor:
        wire = WireEditor(editor)
        for turns in (0, 1, 2):
            said = {"model": "claude-opus-4-6", "tools": TOOLS, "messages": messages("anthropic", "go", turns)}
            given = Call("POST", PATHS["anthropic"], {"x-api-key": "k"}, json.dumps(said).encode(), session="s")
            wire.answered(wire.edit(given), Answer((), usage, "claude-opus-4-6", "anthropic"))


def test_each_definition_has_its_size_its_price_and_its_calls(tmp_path):
    """Read from the cache it costs a tenth of what it costs otherwise."""
    found = {}
    for name, usage in (("fresh", Usage(5_000, 9, 0, 0)), ("cached", Usage(5, 9, 5_000, 0))):
        filled(tmp_path / name, usage)
        done = redline("tools", tmp_path / name, "--json")
        assert (done.returncode, done.stderr) == (0, "")
        told = json.loads(done.stdout)
        found[name] = {one["name"]: one for one in told["tools"]}
        assert (told["requests"], told["requests_with_known_definitions"]) == (3, 3)
        assert set(told["unused"]) == {"Read", "TodoWrite", "mcp__docs__search"}
    search = found["fresh"]["mcp__docs__search"]
    assert search["requests"] == 3
    assert search["sent_tokens"] == 3 * search["tokens"] > 500
    assert search["usd"] > 0
    assert abs(found["cached"]["mcp__docs__search"]["usd"] * 10 - search["usd"]) < 1e-9
    assert found["fresh"]["Bash"]["calls"] == 2
    assert next(iter(found["fresh"])) == "mcp__docs__search"


def test_the_agent_at_hand_is_told_how(tmp_path):
    """With the names of what is never called, the dearest first."""
    filled(tmp_path, Usage(5_000, 9, 0, 0))
    done = redline("tools", tmp_path)
    assert "Never called: 3 tools" in done.stdout
    assert "--disallowedTools 'mcp__docs__search'" in " ".join(done.stdout.split())
    assert "Codex" not in done.stdout


def test_session_files_hold_no_definitions(tmp_path):
    """Their calls are counted, and it says what cannot be known."""
    done = redline("tools", write_session(tmp_path / "s.jsonl"))
    assert done.returncode == 0
    rows = [line.split() for line in done.stdout.splitlines()]
    assert ["Read", "2", "1"] in rows
    assert "not known" in done.stdout
    assert "Never called" not in done.stdout


def test_what_cannot_be_read_is_named(tmp_path):
    """As everywhere."""
    assert redline("tools", tmp_path / "none.jsonl").returncode == 2
