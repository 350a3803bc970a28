"""What the tests of logs share: an address of each kind, records of every type, processes, limits to run into."""

import contextlib
import os
import pwd
import resource
import shutil
import subprocess
import sys
from pathlib import Path
from types import UnionType
from typing import Any, get_args, get_origin

import msgspec
import pytest
from hypothesis import strategies as st

from redline.record.log import ROOT
from redline.record.records import MessageAdded, Record

KINDS = ("jsonl", "sqlite", "postgres")


def new_address(kind: str, folder: Path, request: pytest.FixtureRequest) -> str:
    """The address of a log that does not exist yet."""
    match kind:
        case "jsonl":
            return str(folder / "chat.jsonl")
        case "sqlite":
            return f"sqlite:///{folder / 'chats.db'}#chat"
        case _:
            return f"{request.getfixturevalue('postgres')}#{folder}"


def message(text: str) -> MessageAdded:
    """A record that says something."""
    return MessageAdded(msgspec.json.encode({"role": "user", "content": text}))


def said(log) -> list[str]:
    """What the records of `message` say, in order."""
    return [msgspec.json.decode(stored.record.payload)["content"] for stored in log.read()]


def append_each(log, texts) -> None:
    """One append for each text, each after the one before."""
    last = max((stored.number for stored in log.read()), default=ROOT)
    for text in texts:
        last = log.append([message(text)], parent=last)


# --- records


def records() -> st.SearchStrategy[Record]:
    """Any record of any type: every field of it, known here or not, takes any value of its type."""
    return st.one_of([_built(kind) for kind in get_args(Record)])


payloads = st.one_of(
    st.binary(max_size=12),
    st.sampled_from(
        [
            b'{"role":"user","content":"hi"}',
            b'{"b": 1E2, "a": 1, "a": 2 }',
            b'{"a":"\\ud83d"}',
            b'{"a":"\xff"}',
            b'{"a":\n1}',
            b' {"a":1}',
            b'\xef\xbb\xbf{"a":1}',
            b'{"a":NaN}',
            b'{"a":1e999}',
            b'{"a":"\xe4\xbd\xa0\xe5\xa5\xbd \xe2\x80\xa8"}',
            b'{"a":' + b"[" * 2000 + b"]" * 2000 + b"}",
            b'"text"',
            b"",
        ]
    ),
)
_numbers = st.integers(0, 2**40)
_texts = st.text(st.characters(codec=None), max_size=6)


def _built(kind: type) -> st.SearchStrategy[Any]:
    return st.builds(kind, **{field.name: _values(field.type) for field in msgspec.structs.fields(kind)})


def _values(kind: Any) -> st.SearchStrategy[Any]:
    arguments = get_args(kind)
    if isinstance(kind, UnionType):
        return st.one_of(map(_values, arguments))
    if get_origin(kind) is tuple and arguments[-1] is Ellipsis:
        return st.lists(_values(arguments[0]), max_size=3).map(tuple)
    if get_origin(kind) is tuple:
        return st.tuples(*map(_values, arguments))
    if get_origin(kind) is dict:
        anything = _texts | _numbers | st.integers(-(2**70), 2**70) | st.none()
        return st.dictionaries(_texts, anything if arguments[1] is Any else _values(arguments[1]), max_size=2)
    plain = {
        bytes: payloads,
        str: _texts,
        int: _numbers,
        bool: st.booleans(),
        float: st.floats(0, 1e13),
        type(None): st.none(),
    }
    return plain[kind] if kind in plain else _built(kind)


# --- processes


def environment() -> dict[str, str]:
    """For a process that shall find these tests, and the sources beside them rather than an installed Redline."""
    root = Path(__file__).parents[2]
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(root / "src"), str(root)])}


def run_with_room(folder: Path, size_bytes: int, script: str) -> None:
    """Run Python with the folder as a file system of this size, which only that process can see."""
    mounted = f'mount -t tmpfs -o size={size_bytes} tmpfs "$2" && exec "$0" -c "$1" "$2"'
    command = ["unshare", "-m", "sh", "-c", mounted, sys.executable, script, str(folder)]
    subprocess.run(command, check=True, env=environment())


needs_small_file_system = pytest.mark.skipif(
    os.geteuid() != 0 or not shutil.which("unshare"), reason="only root can make a small file system"
)


# --- limits


@contextlib.contextmanager
def file_size_limit(size_bytes: int):
    """No file can grow beyond this, as on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@contextlib.contextmanager
def without_privileges():
    """Permissions count, also when the tests run as root."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(pwd.getpwnam("nobody").pw_uid)
    try:
        yield
    finally:
        os.seteuid(0)
