"""Every backend of the registry is one class; another package adds one by an entry point."""

import subprocess
import sys

import pytest

from redline.errors import ValidationError
from redline.record.backends import BACKENDS, LogBackend, find_backend, parse_address
from tests.record.logs import environment

DRAWER = '''
"""Logs in a drawer: a folder in which each conversation is a file without an ending."""

from pathlib import Path

from redline.record import JsonlLog, LogBackend


class DrawerBackend(LogBackend):
    example = "drawer:///path#NAME"

    def open(self, place, name, **options):
        return JsonlLog(self.folder(place) / name, **options)

    def names(self, place):
        return sorted(path.name for path in self.folder(place).glob("*") if not path.suffix)

    def sizes(self, place, name=None):
        return {one: (self.folder(place) / one).stat().st_size for one in self.names(place) if name in (None, one)}

    def last_lines(self, place, count):
        return {one: (self.folder(place) / one).read_bytes().splitlines(keepends=True)[-count:] for one in self.names(place)}

    def delete(self, place, names):
        for name in names:
            (self.folder(place) / name).unlink(missing_ok=True)

    def check(self, place, durability):
        self.folder(place).stat()

    def folder(self, place):
        return Path(place.partition("://")[2])
'''
USED = """
import sys
from datetime import UTC, datetime
import redline
redline.open(sys.argv[1] + "/chat.jsonl").close()
assert "redline_drawer" not in sys.modules
place = f"drawer://{sys.argv[1]}/drawer"
with redline.open(place + "#monday", format="openai_chat") as talk:
    talk.add({"role": "user", "content": "where is the key?"})
with redline.open(place + "#monday") as again:
    assert [message["content"] for message in again.messages] == ["where is the key?"]
    again.fork(redline.record.unused_address(place + "#monday")).close()
store = redline.Store(place)
assert store.names() == ("monday", "monday-2"), store.names()
assert [found.conversation.name for found in store.search("the key", since=datetime(2026, 1, 1, tzinfo=UTC))]
assert store.list(limit=1)[0].messages == 1
with redline.Editor(place) as editor:
    editor.edit([{"role": "user", "content": "hello"}])
assert len(store.names()) == 3
assert store.delete("monday") == ()
from redline.cli import main
sys.argv = ["redline", "ls", place]
main()
"""


def install(folder):
    """What `pip install redline-drawer` leaves in a folder of packages."""
    (folder / "redline_drawer.py").write_text(DRAWER)
    info = folder / "redline_drawer-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: redline-drawer\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[redline.backends]\ndrawer = redline_drawer:DrawerBackend\n")


def test_an_installed_package_adds_a_backend(tmp_path):
    """Conversations, stores, Editors and commands use it; packages are looked through only for an unknown scheme."""
    packages = tmp_path / "packages"
    packages.mkdir()
    (tmp_path / "drawer").mkdir()
    install(packages)
    known = environment()
    variables = {**known, "PYTHONPATH": f"{packages}:{known['PYTHONPATH']}", "HOME": str(tmp_path)}
    command = [sys.executable, "-c", USED, str(tmp_path)]
    done = subprocess.run(command, env=variables, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "monday-2" in done.stdout
    assert "monday " not in done.stdout


@pytest.mark.parametrize("scheme", BACKENDS)
def test_every_backend_of_the_registry_is_found(scheme):
    """Once for all addresses of a scheme."""
    assert isinstance(find_backend(scheme), LogBackend)
    assert find_backend(scheme) is find_backend(scheme)


def test_an_unknown_scheme_is_refused_with_examples():
    """One for each kind of database."""
    known = r"Write a path, sqlite:///chats.db#NAME or postgresql://user@host/database#NAME$"
    with pytest.raises(ValidationError, match=known):
        parse_address("drawer:///tmp#a")
