import shutil
from pathlib import Path

import pytest

import redline
from redline.agents.readers import READERS
from tests.agents.transcripts.opencode_store import make_database

DATA = Path(__file__).parent / "transcripts" / "data" / "gemini"


def by_format(**given):
    return {place.format: place for place in redline.session_places(**given)}


def test_places_below_the_home_folder():
    """Where the agents keep their sessions if nobody told them otherwise."""
    home = Path("/home/dev")
    assert {name: str(place.folder) for name, place in by_format(home=home, environ={}).items()} == {
        "claude-code": "/home/dev/.claude/projects",
        "cline-sdk": "/home/dev/.cline/data/sessions",
        "codex": "/home/dev/.codex/sessions",
        "copilot-cli": "/home/dev/.copilot/session-state",
        "gemini-cli": "/home/dev/.gemini/tmp",
        "neovate": "/home/dev/.neovate/projects",
        "opencode-db": "/home/dev/.local/share/opencode",
        "pi": "/home/dev/.pi/agent/sessions",
        "redline": "/home/dev/.redline",
    }


@pytest.mark.parametrize(
    ("variable", "name", "folder"),
    [
        ("CLAUDE_CONFIG_DIR", "claude-code", "/else/projects"),
        ("CLINE_SESSION_DATA_DIR", "cline-sdk", "/else"),
        ("CLINE_DATA_DIR", "cline-sdk", "/else/sessions"),
        ("CLINE_DIR", "cline-sdk", "/else/data/sessions"),
        ("CODEX_HOME", "codex", "/else/sessions"),
        ("COPILOT_HOME", "copilot-cli", "/else/session-state"),
        ("GEMINI_CLI_HOME", "gemini-cli", "/else/.gemini/tmp"),
        ("XDG_DATA_HOME", "opencode-db", "/else/opencode"),
        ("PI_CODING_AGENT_SESSION_DIR", "pi", "/else"),
        ("PI_CODING_AGENT_DIR", "pi", "/else/sessions"),
    ],
)
def test_places_that_were_moved(variable, name, folder):
    """Each agent has a variable for it; an empty one means nothing."""
    places = by_format(home=Path("/home/dev"), environ={variable: "/else"})
    assert str(places[name].folder) == folder
    unmoved = by_format(home=Path("/home/dev"), environ={variable: ""})
    assert str(unmoved[name].folder).startswith("/home/dev/")


def test_of_several_variables_the_narrowest_counts():
    """Cline's folder of sessions goes before its folder of data."""
    environ = {"CLINE_DIR": "/wide", "CLINE_SESSION_DATA_DIR": "/narrow"}
    assert str(by_format(home=Path("/home/dev"), environ=environ)["cline-sdk"].folder) == "/narrow"


@pytest.mark.parametrize(
    ("named", "found"),
    [("mine[1].db", "opencode/mine[1].db"), ("", "opencode/opencode.db"), (":memory:", "opencode/opencode.db")],
)
def test_the_database_of_opencode_may_be_named_itself(tmp_path, named, found):
    """By its name in the folder or by its path; one in memory is nowhere."""
    (tmp_path / "opencode").mkdir()
    (tmp_path / "opencode" / "opencode.db").touch()
    (tmp_path / "opencode" / "mine[1].db").touch()
    given = {"XDG_DATA_HOME": str(tmp_path), "OPENCODE_DB": named}
    assert list(by_format(environ=given)["opencode-db"].files()) == [tmp_path / found]
    (tmp_path / "elsewhere.db").touch()
    given["OPENCODE_DB"] = str(tmp_path / "elsewhere.db")
    assert list(by_format(environ=given)["opencode-db"].files()) == [tmp_path / "elsewhere.db"]


def test_the_environment_is_asked_unless_told_otherwise(monkeypatch):
    """For the user whose process this is."""
    monkeypatch.setenv("CODEX_HOME", "/else")
    assert str(by_format()["codex"].folder) == "/else/sessions"


def test_every_place_has_a_reader():
    """The format of a place is one that can be read, or Redline's own."""
    assert by_format().keys() <= {"redline", *(reader.name for reader in READERS)}


def test_what_is_there_is_found(tmp_path):
    """Sessions and those of their sub-agents, the database without its journals; nothing where nothing is."""
    places = by_format(home=tmp_path, environ={})
    assert [list(place.files()) for place in places.values()] == [[]] * len(places)
    chats = tmp_path / ".gemini" / "tmp" / "shop" / "chats"
    (chats / "parent").mkdir(parents=True)
    shutil.copy(DATA / "looked.jsonl", chats / "session-1.jsonl")
    shutil.copy(DATA / "subagent.jsonl", chats / "parent" / "s.jsonl")
    places["opencode-db"].folder.mkdir(parents=True)
    database = make_database(places["opencode-db"].folder)
    database.with_name("opencode.db-wal").touch()
    assert [path.name for path in places["gemini-cli"].files()] == ["s.jsonl", "session-1.jsonl"]
    assert list(places["opencode-db"].files()) == [database]
    assert {redline.read_transcript(path).format for path in places["gemini-cli"].files()} == {"gemini-cli"}
