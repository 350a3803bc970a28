import json
import os
import threading
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

import redline
from redline.agents.readers import session_places
from redline.prices import find_price
from redline.providers.answers import Answer
from redline.providers.usage import Usage
from redline.sessions.catalog import catalog_row
from redline.sessions.catalog.catalog import Catalog
from redline.sessions.catalog.catalog_row import CatalogRow
from redline.sessions.catalog.session_files import SessionInput, find_sessions
from redline.transport.editing import Call, WireEditor
from tests.agents.transcripts.opencode_store import connect, insert, make_database, message_row
from tests.cli.sample import write_session
from tests.corpus import CORPUS, corpus_rows, needs_corpus

MODEL = "claude-opus-4-6"


@pytest.fixture(autouse=True)
def cache(tmp_path_factory, monkeypatch):
    """A cache folder of the test's own."""
    folder = tmp_path_factory.mktemp("cache")
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder))
    monkeypatch.delenv("REDLINE_CACHE", raising=False)
    return folder / "redline" / "sessions.json"


def rows_in(*places, **given):
    return {Path(row.name).name: row for row in Catalog(map(str, places), **given).rows()}


def has_been_read(catalog):
    return [catalog.is_known(one) for one in catalog.sessions()]


def test_a_row_says_what_a_session_holds(tmp_path):
    """As `inspect` counts it, and what the requests cost at list prices."""
    path = write_session(tmp_path / "s.jsonl", is_open=True, model=MODEL)
    (row,) = Catalog([str(path)]).rows()
    counted = redline.inspect_transcript(path)
    assert (row.messages, row.tokens, row.problems) == (8, counted.tokens["total"], 1)
    assert (row.agent, row.format, row.first_words, row.conversations) == ("Claude Code", "claude-code", "fix it", 1)
    assert (row.requests, row.models, row.bytes) == (4, (MODEL,), path.stat().st_size)
    price = find_price(MODEL)
    assert row.cost_usd == pytest.approx(4 * price.cost(fresh=3, read=900, written=0, output=7))
    assert (row.is_log, row.is_observed, row.is_subagent, row.problem) == (False, False, False, "")


def test_what_has_no_price_costs_nothing_that_is_known(tmp_path):
    """None is not 0."""
    (row,) = Catalog([str(write_session(tmp_path / "s.jsonl"))]).rows()
    assert (row.requests, row.cost_usd, row.models) == (4, None, ())


def test_sessions_are_listed_without_reading_them(tmp_path):
    """Those of the places and those that are named, newest first, each once, whose by where they are."""
    projects = tmp_path / ".claude" / "projects" / "p"
    projects.mkdir(parents=True)
    for number, name in enumerate(("a.jsonl", "b.jsonl")):
        (projects / name).write_text("not even JSON")
        os.utime(projects / name, (number, number))
    (tmp_path / "named.jsonl").write_text("x")
    catalog = Catalog([str(tmp_path / "named.jsonl")], places=session_places(home=tmp_path, environ={}))
    found = catalog.sessions()
    assert [Path(one.session.place).name for one in found] == ["named.jsonl", "b.jsonl", "a.jsonl"]
    assert [(one.agent, one.bytes) for one in found] == [("", 1), ("Claude Code", 13), ("Claude Code", 13)]
    again = Catalog([str(projects)], places=session_places(home=tmp_path, environ={}))
    assert len(again.sessions()) == 2


def test_rows_are_kept_until_the_file_changes(tmp_path, cache):
    """For their owner only; what has not changed is not read again."""
    path = write_session(tmp_path / "s.jsonl")
    assert rows_in(tmp_path)["s.jsonl"].messages == 8
    assert (cache.stat().st_mode & 0o777, cache.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    later = Catalog([str(tmp_path)])
    assert has_been_read(later) == [True]
    first = path.read_text().splitlines()[0]
    path.write_text(first + "\n")
    assert has_been_read(later) == [False]
    assert rows_in(tmp_path)["s.jsonl"].messages == 1


def test_what_is_only_in_the_journal_of_a_database_counts(tmp_path):
    """SQLite writes there first; only the session that grew is read again (R119)."""
    database = make_database(tmp_path)
    list(Catalog([str(database)]).rows())
    catalog = Catalog([str(database)])
    assert has_been_read(catalog) == [True, True, True]
    newest = catalog.sessions()[0].session.conversation
    with closing(connect(database)) as writer:
        insert(writer, **message_row("msg_new", newest, at=2_000_000_000_000))
        assert database.with_name(f"{database.name}-wal").stat().st_size
        assert has_been_read(catalog) == [False, True, True]


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"version": "0", "rows": {}}', b"\xff\xfe", b'{"rows": {"a": [1]}}'])
def test_a_damaged_cache_or_one_of_another_version_is_ignored(tmp_path, cache, content):
    """And written anew."""
    write_session(tmp_path / "s.jsonl")
    cache.parent.mkdir()
    cache.write_bytes(content)
    assert rows_in(tmp_path)["s.jsonl"].messages == 8
    assert len(msgspec.json.decode(cache.read_bytes())["rows"]) == 1


@pytest.mark.parametrize("what", ["a column", "the code"])
def test_rows_are_worked_out_anew_when_columns_or_code_change(what, tmp_path, monkeypatch):
    """Stale rows are never shown, and nobody has to count a version up."""

    class WiderRow(CatalogRow, frozen=True, kw_only=True):
        added: int = 0

    write_session(tmp_path / "s.jsonl")
    rows_in(tmp_path / "s.jsonl")
    assert has_been_read(Catalog([str(tmp_path / "s.jsonl")])) == [True]
    if what == "a column":
        monkeypatch.setattr(catalog_row, "CatalogRow", WiderRow)
    else:
        monkeypatch.setattr(catalog_row, "_WORKED_OUT_IN", ("catalog_row.py",))
    catalog_row._version.cache_clear()
    assert has_been_read(Catalog([str(tmp_path / "s.jsonl")])) == [False]
    monkeypatch.undo()
    catalog_row._version.cache_clear()


def test_a_cache_that_is_switched_off_or_closed_is_none(tmp_path, cache, monkeypatch):
    """Then everything is read each time, without a complaint."""
    write_session(tmp_path / "s.jsonl")
    monkeypatch.setenv("REDLINE_CACHE", "off")
    assert rows_in(tmp_path)["s.jsonl"].messages == 8
    assert not cache.exists()
    monkeypatch.delenv("REDLINE_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "s.jsonl"))
    assert rows_in(tmp_path)["s.jsonl"].messages == 8


def test_what_is_gone_is_forgotten(tmp_path, cache):
    """The cache does not grow with every file that ever was."""
    for name in ("a.jsonl", "b.jsonl"):
        write_session(tmp_path / name)
    rows_in(tmp_path)
    (tmp_path / "a.jsonl").unlink()
    write_session(tmp_path / "c.jsonl")
    rows_in(tmp_path)
    assert sorted(Path(key).name for key in msgspec.json.decode(cache.read_bytes())["rows"]) == ["b.jsonl", "c.jsonl"]


def test_what_cannot_be_read_is_a_row_that_says_why(tmp_path):
    """The others are there all the same."""
    write_session(tmp_path / "good.jsonl")
    (tmp_path / "bad.jsonl").write_text("hello")
    rows = rows_in(tmp_path, tmp_path / "missing.jsonl")
    assert rows["good.jsonl"].problem == ""
    assert "bad.jsonl" in rows["bad.jsonl"].problem
    assert "No such file" in rows["missing.jsonl"].problem


def test_hostile_text_is_kept_and_found_again(tmp_path):
    """Half an emoji, names that are no text, and a project and models without end."""
    path = write_session(tmp_path / "s.jsonl", model="m" * 100_000)
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    lines[0]["message"]["content"] = "half \ud83d of it"
    lines[0]["cwd"] = "/" + "x" * 100_000
    odd = tmp_path / os.fsdecode(b"odd\xff.jsonl")
    for file in (path, odd):
        file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    for _ in range(2):
        rows = rows_in(tmp_path)
        assert {row.first_words for row in rows.values()} == {"half ? of it"}
        assert {(len(row.project), len(row.models[0])) for row in rows.values()} == {(500, 100)}


def test_one_session_has_a_row_too(tmp_path, cache):
    """Kept when it is asked for."""
    (session,) = find_sessions([str(write_session(tmp_path / "s.jsonl"))])
    catalog = Catalog()
    row = catalog.row_of(session)
    assert (row.messages, cache.exists()) == (8, False)
    catalog.save()
    assert Catalog().row_of(session) == row
    assert "cannot be opened" in catalog.row_of(SessionInput("x", "x", "x cannot be opened")).problem


@pytest.mark.parametrize("has_threads", [False, True])
def test_many_are_read_in_processes(tmp_path, has_threads):
    """From a program with threads, too; the rows are those of one process."""
    for number in range(4):
        path = write_session(tmp_path / f"{number}.jsonl")
        padding = {"type": "file-history-snapshot", "messageId": "m", "snapshot": "x" * (2 << 20)}
        with path.open("a") as file:
            file.write(json.dumps(padding) + "\n")
    (tmp_path / "bad.jsonl").write_text("hello")
    ended = threading.Event()
    thread = threading.Thread(target=ended.wait)
    if has_threads:
        thread.start()
    try:
        rows = rows_in(tmp_path, jobs=2)
    finally:
        ended.set()
    assert {name: row.messages for name, row in rows.items()} == {**{f"{n}.jsonl": 8 for n in range(4)}, "bad.jsonl": 0}


def test_sub_agents_are_told_apart(tmp_path):
    """By what the file says, or by its name where it is of an older version."""
    path = write_session(tmp_path / "s.jsonl")
    lines = [json.loads(line) | {"isSidechain": True, "agentId": "a1"} for line in path.read_text().splitlines()]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    write_session(tmp_path / "agent-1.jsonl")
    write_session(tmp_path / "main.jsonl")
    assert {name: row.is_subagent for name, row in rows_in(tmp_path).items()} == {
        "s.jsonl": True,
        "agent-1.jsonl": True,
        "main.jsonl": False,
    }


def ask(editor, words, *, is_dry_run):
    """A request through the proxy's own hands, and its answer."""
    wire = WireEditor(editor, is_dry_run=is_dry_run)
    reminder = f"<system-reminder>{'as you answer ' * 300}\nPrimary working directory: /home/me/shop\n</system-reminder>"
    said = [{"type": "text", "text": reminder}, {"type": "text", "text": words}]
    body = json.dumps({"model": MODEL, "messages": [{"role": "user", "content": said}]}).encode()
    edited = wire.edit(Call("POST", "/v1/messages", {"x-api-key": "k", "x-claude-code-session-id": words}, body))
    answer = {"role": "assistant", "content": [{"type": "text", "text": "done"}]}
    wire.answered(edited, Answer((answer,), Usage(100, 10, 1000, 50), MODEL, "anthropic"))
    body = json.dumps(
        {"model": MODEL, "messages": [{"role": "user", "content": said}, answer, {"role": "user", "content": "go"}]}
    )
    wire.edit(Call("POST", "/v1/messages", {"x-api-key": "k", "x-claude-code-session-id": words}, body.encode()))


@pytest.mark.parametrize("kind", ["folder", "sqlite"])
def test_logs_of_the_proxy_are_told_by_what_the_user_said(tmp_path, kind):
    """With the folder that the agent tells its model, and whether they were only observed."""
    store = f"sqlite:///{tmp_path}/store.db" if kind == "sqlite" else tmp_path / "store"
    editor = redline.Editor(store)
    ask(editor, "fix the login test", is_dry_run=False)
    ask(editor, "what is this?", is_dry_run=True)
    editor.close()
    rows = {row.first_words: row for row in Catalog([str(store)]).rows()}
    assert {words: row.is_observed for words, row in rows.items()} == {"fix the login test": False, "what is this?": True}
    row = rows["fix the login test"]
    assert (row.agent, row.format, row.project, row.is_log) == ("Redline", "redline", "/home/me/shop", True)
    assert (row.messages, row.requests, row.models) == (3, 1, (MODEL,))
    assert row.cost_usd == pytest.approx(find_price(MODEL).cost(fresh=100, read=1000, written=50, output=10))
    assert row.started_ms is not None


def test_the_log_beside_a_session_is_redlines_own(tmp_path):
    """Also at the place of the agent whose session it continues."""
    projects = tmp_path / ".claude" / "projects" / "p"
    projects.mkdir(parents=True)
    redline.open(write_session(projects / "s.jsonl")).close()
    rows = Catalog(places=session_places(home=tmp_path, environ={})).rows()
    assert sorted((row.agent, row.is_log) for row in rows) == [("Claude Code", False), ("Redline", True)]


@needs_corpus
def test_every_recorded_session_has_a_row():
    """All files of the corpus, with their agents and numbers; the second time from the cache."""
    files = [str(CORPUS / row["path"]) for row in corpus_rows()]
    first = {row.name: row for row in Catalog(files).rows()}
    assert {row.problem for row in first.values()} == {""}
    assert {name: row.format for name, row in first.items()} == {
        str(CORPUS / row["path"]): row["format"] for row in corpus_rows()
    }
    again = Catalog(files)
    assert all(has_been_read(again))
    assert {row.name: row for row in again.rows()} == first
