"""What users import from `redline.log` in one line."""

import subprocess
import sys
from typing import get_args

import pytest

import redline.log
from redline.log import JsonlLog, MemoryLog, PostgresLog, Record, SqliteLog, open_log
from tests.cli.run import SOURCE


@pytest.mark.parametrize("name", redline.log.__all__)
def test_every_public_name_is_there(name):
    """Each is loaded from its file, once, and no file of the package has its name."""
    assert getattr(redline.log, name) is getattr(redline.log, name)
    assert type(getattr(redline.log, name)) is not type(redline.log)
    assert name in dir(redline.log)


def test_every_kind_of_record_is_public():
    """Whoever reads a log needs them all."""
    assert {kind.__name__ for kind in get_args(Record)} <= set(redline.log.__all__)


def test_logs_are_what_opening_gives(tmp_path):
    """By address, or by their names."""
    assert isinstance(open_log(tmp_path / "chat.jsonl"), JsonlLog)
    assert isinstance(open_log(f"sqlite:///{tmp_path}/chats.db#chat"), SqliteLog)
    assert PostgresLog.__name__ == "PostgresLog"
    assert list(MemoryLog().read()) == []


def test_other_names_are_refused():
    """As for any module."""
    with pytest.raises(AttributeError, match=r"redline\.log.*no attribute 'Loog'"):
        redline.log.Loog  # noqa: B018 - looking for it is what raises


def test_importing_is_light():
    """No driver is loaded before a log needs it."""
    script = """
import sys
import redline.log
from redline.log import Header, JsonlLog, Log, MemoryLog, MessageAdded, open_log
loaded = {"sqlite3", "psycopg", "obstore"} & set(sys.modules)
sys.exit(f"{loaded} was loaded" if loaded else 0)
"""
    # Not measured by `make coverage`, which loads sqlite3 itself.
    subprocess.run([sys.executable, "-c", script], check=True, env={"PYTHONPATH": str(SOURCE)})
