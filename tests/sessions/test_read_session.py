"""Redline's own logs are judged by what would be sent now (R117)."""

import json
from pathlib import Path

import pytest

import redline
from redline import EN, Editor, Policy
from redline.record.opening import read_log as read_log_at
from redline.record.reading import read_log_file
from redline.record.records import Strike, StrikesApplied
from redline.sessions.catalog.catalog import Catalog, work_out
from redline.sessions.catalog.session_files import SessionInput, find_sessions
from redline.sessions.read_session import problems_in, problems_of_log
from redline.sessions.replay.history import history_of_log
from redline.sessions.summary import inspect_transcript
from redline.testing import asks, conversation, fake_provider, says
from redline.transport.editing import Call, WireEditor
from tests.cli.run import redline as run
from tests.measure_bytes import PATHS
from tests.proxy.support import proxy

STEPS = 9
MARK = {"cache_control": {"type": "ephemeral"}}


def bodies(format):
    """What an agent sends while it reads one file again and again: its last message has the mark, which moves each time."""
    turns = [says("user", "Go on.")]
    for number in range(STEPS):
        turns += asks("Read", {"file_path": "/a.py"}, f"text {number} " * 30, id=f"call_{number}")
        messages = conversation(format, turns)
        if format == "anthropic":
            messages[-1]["content"][-1] |= MARK
        if format == "openai_chat":
            messages[-1] |= MARK
        yield json.dumps({"model": "claude-sonnet-4-5", PATHS[format][1]: messages, "max_tokens": 9}).encode()


def write_log(place, format, *, is_dry_run=False):
    with Editor(place, policy=Policy(schedule="eager", words=EN)) as editor:
        wire = WireEditor(editor, is_dry_run=is_dry_run)
        for body in bodies(format):
            edited = wire.edit(Call("POST", PATHS[format][0], {"x-api-key": "k"}, body))
            assert edited.is_changed <= (not is_dry_run)
    assert edited.request.strikes


def read_log(session):
    return read_log_at(session.place) if "://" in session.place else read_log_file(Path(session.place))


def assert_no_problem(place):
    (session,) = find_sessions([place])
    log = read_log(session)
    assert problems_of_log(log) == []
    assert problems_in(history_of_log(log)) == []
    assert inspect_transcript(session.read()).problems == []
    (found,) = Catalog([place]).sessions()
    assert work_out(found).problems == 0
    checked = run("check", place)
    assert (checked.returncode, "no problem found" in checked.stdout, checked.stderr) == (0, True, "")
    repaired = run("repair", place)
    assert (repaired.returncode, "its record stays as it is" in repaired.stdout) == (0, True)


@pytest.mark.parametrize("store", ["folder", "sqlite"])
@pytest.mark.parametrize("is_dry_run", [False, True])
@pytest.mark.parametrize("format", PATHS)
def test_marks_that_clients_move_are_no_problems(format, is_dry_run, store, tmp_path):
    """R117: each message is recorded with the mark that it had when it came first; no request has all of these."""
    place = str(tmp_path / "chats") if store == "folder" else f"sqlite:///{tmp_path / 'chats.db'}"
    write_log(place, format, is_dry_run=is_dry_run)
    assert_no_problem(place)


@pytest.mark.parametrize("is_dry_run", [False, True])
def test_the_log_of_a_proxied_session_has_no_problem(is_dry_run, tmp_path):
    """R117: what the proxy writes for an agent that moves its marks gave an alarm for nearly every message."""
    place = tmp_path / "chats"
    with (
        Editor(place, policy=Policy(schedule="eager", words=EN)) as editor,
        fake_provider() as provider,
        proxy(provider.url, tmp_path / "proxy", editor=WireEditor(editor, is_dry_run=is_dry_run)) as running,
    ):
        for body in bodies("anthropic"):
            assert running.ask(body=body, headers=[("x-api-key", "k")]).status == 200
        running.settled(STEPS)
    assert_no_problem(str(place))


@pytest.mark.parametrize("format", PATHS)
def test_what_the_next_request_repairs_is_no_problem(format, tmp_path):
    """R117: a call that a crash left open is not sent without a result, so that no provider refuses it."""
    path = tmp_path / "chat.jsonl"
    with redline.open(path, format=format) as talk:
        for message in conversation(format, [says("user", "go"), *asks("Bash", {"command": "ls"}, None)]):
            talk.add(message)
    assert redline.check(talk.all_messages, format=format)
    assert_no_problem(str(path))


def test_only_what_is_visible_is_judged(tmp_path):
    """R117: a replaced message counts in its present version, a hidden one not at all."""
    path = tmp_path / "chat.jsonl"
    with redline.open(path, format="anthropic") as talk:
        for number in range(6):
            talk.add({"role": "user", "content": f"question {number}"})
            talk.add({"role": "assistant", "content": f"answer {number}"})
        talk.process({"operation": "replace", "replace": {"index": 10, "message": {"role": "user", "content": "again"}}})
        talk.start_batch(8)
        talk.rollback(0)
        talk.process({"operation": "truncate", "truncate": {"keep_last": 3}})
    assert_no_problem(str(path))


def illegal_strike():
    """A strike that no version of Redline applies: the result of a call is gone, and its call is still there."""
    return Strike(0, "masked_results", 2, ("content", 0), None, "by hand", 9, 0)


def test_strikes_in_force_are_judged(tmp_path):
    """R117: a log whose strikes make a request illegal is told, by line and message, with exit code 1."""
    path = tmp_path / "chat.jsonl"
    with redline.open(path, format="anthropic") as talk:
        for message in conversation("anthropic", [says("user", "go"), *asks("Read", {"file_path": "/a"}, "text")]):
            talk.add(message)
        talk._engine.commit([StrikesApplied((illegal_strike(),))])
    log = read_log_file(path)
    (found,) = problems_of_log(log)
    assert (found.law, found.index) == ("answered_calls", 1)
    done = run("check", path)
    assert (done.returncode, f"{path}: line 3 (message 1): the call 'call_1' of Read has no result" in done.stdout) == (1, True)
    told = json.loads(run("check", "--json", path).stdout)
    assert (told["law"], told["line"], told["index"], told["conversation"]) == ("answered_calls", 3, 1, "chat")
    assert run("repair", path).returncode == 1


def test_damage_is_still_told(tmp_path):
    """R117: records that were torn are named by `check`, `repair` and the catalog; what is left breaks no rule."""
    write_log(str(tmp_path / "chats"), "anthropic")
    (path,) = (tmp_path / "chats").glob("*.jsonl")
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:-1], lines[-1][: len(lines[-1]) // 2]]))
    for command in ("check", "repair"):
        done = run(command, path)
        assert (done.returncode, f"line {len(lines)}, column 1: damaged or incomplete" in done.stderr) == (0, True)
    (problem,) = inspect_transcript(SessionInput(str(path), str(path)).read()).problems
    assert (problem["law"], problem["line"]) == (None, len(lines))


def test_an_empty_log_has_no_problem(tmp_path):
    """R117: where nothing was said, nothing is sent."""
    with redline.open(tmp_path / "chat.jsonl", format="anthropic") as talk:
        talk.close()
    with Editor(tmp_path / "other", policy="careful"):
        pass
    for path in tmp_path.rglob("*.jsonl"):
        assert problems_of_log(read_log_file(path)) == []
