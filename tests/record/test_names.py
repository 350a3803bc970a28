"""What users import from `redline.record` in one line."""

import subprocess
import sys
from typing import get_args

import pytest

import redline.log
import redline.record
from redline.record import JsonlLog, MemoryLog, PostgresLog, Record, SqliteLog, open_log
from tests.cli.run import SOURCE


@pytest.mark.parametrize("name", redline.record.__all__)
def test_every_public_name_is_there(name):
    """Each is loaded from its file, once, and no file of the package has its name."""
    assert getattr(redline.record, name) is getattr(redline.record, name)
    assert type(getattr(redline.record, name)) is not type(redline.record)
    assert name in dir(redline.record)


def test_every_kind_of_record_is_public():
    """Whoever reads a log needs them all."""
    assert {kind.__name__ for kind in get_args(Record)} <= set(redline.record.__all__)


def test_logs_are_what_opening_gives(tmp_path):
    """By address, or by their names."""
    assert isinstance(open_log(tmp_path / "chat.jsonl"), JsonlLog)
    assert isinstance(open_log(f"sqlite:///{tmp_path}/chats.db#chat"), SqliteLog)
    assert PostgresLog.__name__ == "PostgresLog"
    assert list(MemoryLog().read()) == []


def test_other_names_are_refused():
    """As for any module."""
    with pytest.raises(AttributeError, match=r"redline\.record.*no attribute 'Loog'"):
        redline.record.Loog  # noqa: B018 - looking for it is what raises


def test_importing_is_light():
    """No driver is loaded before a log needs it."""
    script = """
import sys
import redline.record
from redline.record import Header, JsonlLog, Log, MemoryLog, MessageAdded, open_log
loaded = {"sqlite3", "psycopg", "obstore"} & set(sys.modules)
sys.exit(f"{loaded} was loaded" if loaded else 0)
"""
    # Not measured by `make coverage`, which loads sqlite3 itself.
    subprocess.run([sys.executable, "-c", script], check=True, env={"PYTHONPATH": str(SOURCE)})


@pytest.mark.parametrize(
    ("before", "now"),
    [
        ("CacheTouched", "CacheKeptWarm"),
        ("HistoryStarted", "LogIndexed"),
        ("Originated", "ForkedFrom"),
        ("SessionJoined", "SessionNamed"),
    ],
)
def test_earlier_names_still_answer(before, now):
    """Under `redline.record` and `redline.log`, silently."""
    assert getattr(redline.record, before) is getattr(redline.record, now)
    assert getattr(redline.log, before) is getattr(redline.record, now)
