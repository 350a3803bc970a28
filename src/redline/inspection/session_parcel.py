"""A session made ready to be read on another machine: what is in files here travels with it, an address is read there."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import quote

from redline.inspection.session_files import JOURNAL, SessionInput
from redline.log.addresses import parse_address

__all__ = ["SessionParcel"]

_CHATS, _PROJECT = "chats", ".project_root"
"""Beside the folder that Gemini CLI keeps its sessions in, the file that names their project."""


@dataclass(frozen=True, slots=True)
class SessionParcel:
    """A session, and the bytes of the files that it is read from."""

    session: SessionInput
    files: tuple[tuple[str, bytes], ...] = ()
    """Each by its path below a folder; the session itself comes first. None where the session is at an address."""

    @classmethod
    def of(cls, session: SessionInput) -> "SessionParcel":
        """Read its files. Those of an SQLite address stay where they are: they hold more than this session."""
        if session.problem:
            return cls(session)
        if "://" in session.place:
            return cls(replace(session, place=_from_anywhere(session.place)))
        path = session.file.absolute()
        chats = next((folder for folder in path.resolve().parents if folder.name == _CHATS), None)
        if chats is not None:
            path = path.resolve()
        root = path.parent if chats is None else chats.parent
        beside = (Path(f"{path}{JOURNAL}"), root / _PROJECT)
        found = (path, *(one for one in beside if one.is_file()))
        return cls(session, tuple((str(one.relative_to(root)), one.read_bytes()) for one in found))

    @contextmanager
    def unpacked(self) -> Iterator[SessionInput]:
        """The session with its files on this machine, for as long as the block lasts."""
        if not self.files:
            yield self.session
            return
        with tempfile.TemporaryDirectory(prefix="redline-") as folder:
            for name, content in self.files:
                path = Path(folder, name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)
            member = self.session.place.rpartition("#")[2] if self.session.conversation else ""
            yield replace(self.session, place=str(Path(folder, self.files[0][0])) + (f"#{member}" if member else ""))


def _from_anywhere(address: str) -> str:
    """The address with an absolute path, where it has a path: another process works in another folder."""
    if not address.lower().startswith("sqlite:"):
        return address
    _, path, conversation = parse_address(address)
    return f"sqlite:///{quote(str(Path(path).absolute()))}#{quote(conversation, safe='')}"
