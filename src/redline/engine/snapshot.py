"""What a projection has worked out is stored now and then, so that opening a conversation need not work it out again."""

import contextlib
import dataclasses
import hashlib
from collections.abc import Callable, Hashable, Iterable, Mapping
from functools import cached_property, lru_cache
from typing import Any

import msgspec

from redline.engine.marks import MarksSnapshot
from redline.engine.repaired import RepairedViewSnapshot
from redline.engine.state import State, runs_of
from redline.log.records import Checkpoint
from redline.schedules.ledger import LedgerSnapshot
from redline.values.package import package_version
from redline.view.view import View

__all__ = ["Checkpoints", "Snapshot", "digest_of", "fingerprint"]

_SHAPE = 5
"""Counts up when a snapshot is made in another way, so that one of an older version is not taken for one of this."""
_LEAST_MESSAGES = 50
"""Fewer are worked out again in a moment."""
_LEAST_SHARE = 16
"""What was said since the last checkpoint must be so many times as large as that was: the log grows by a sixteenth at most."""


class Snapshot(msgspec.Struct, frozen=True):
    """What was worked out, by part. All of it follows from the record and the settings; it is only there to be quick."""

    view: str
    """The view that it was made from and the format that it was read in, as a digest."""
    next_strike: int
    repaired: RepairedViewSnapshot
    marks: MarksSnapshot
    ledger: LedgerSnapshot | None = None


class Checkpoints:
    """Makes the checkpoints of a conversation under one set of settings, and takes up the latest."""

    def __init__(self, state: State, settings: object) -> None:
        self._state, self._settings = state, settings
        self._counted = self._said = 0
        """Of what was said since the last checkpoint: up to where it is counted, and its size."""
        self._reach(0, 0)

    @cached_property
    def _made_with(self) -> str | None:
        """The name of the settings; worked out only where there is a checkpoint, or one is to be made, and once for all
        conversations that share them, unless a rule of somebody's own cannot be hashed."""
        try:
            return _known_fingerprint(self._settings)
        except TypeError:
            return fingerprint(self._settings)

    def latest(self) -> Snapshot | None:
        """What the record says was worked out; None if nothing, or from another view, by other settings or another version."""
        known = self._state.checkpoints
        checkpoint, view = known.get(self._made_with or "", (None, None)) if known else (None, None)
        snapshot: Snapshot | None = None
        if checkpoint is not None:
            with contextlib.suppress(msgspec.DecodeError, UnicodeDecodeError):  # damaged, or written by another version
                snapshot = msgspec.json.decode(checkpoint.known, type=Snapshot)
        if checkpoint is None or view is None or snapshot is None or snapshot.view != digest_of(view, self._state.format.name):
            self._reach(0, 0)
            return None
        self._reach(len(view.indices), len(checkpoint.known))
        return snapshot

    def checkpoint(self, make: Callable[[str], Snapshot | None]) -> Checkpoint | None:
        """One to be stored, if that is worth it by now; from a digest of the view it is made from."""
        state, visible = self._state, len(self._state.view.indices)
        if visible - self._visible < _LEAST_MESSAGES or self._made_with is None:
            return None
        self._said += sum(len(state.payload(index)) for index in state.view.indices[self._counted :])
        self._counted = visible
        if self._said < _LEAST_SHARE * self._size:
            return None
        snapshot, content = make(digest_of(state.view, state.format.name)), None
        with contextlib.suppress(UnicodeEncodeError):  # it holds text that JSON cannot
            content = msgspec.json.encode(snapshot) if snapshot is not None else None
        self._reach(visible, self._size if content is None else len(content))
        return Checkpoint(self._made_with, content, state.votes) if content is not None else None

    def _reach(self, visible: int, size: int) -> None:
        """How far the last checkpoint reached, and its size."""
        self._visible, self._size = visible, size
        self._counted, self._said = visible, 0


def digest_of(view: View, format: str) -> str:
    """Names a view: which messages are visible, in which order and version, read in which format."""
    content = msgspec.json.encode([format, runs_of(view.indices), sorted(view.versions.items())])
    return hashlib.blake2b(content, digest_size=12).hexdigest()


def fingerprint(settings: object) -> str | None:
    """A name for settings, the same in every process; None if they hold something that is not made of plain values."""
    try:
        content = msgspec.json.encode([_SHAPE, package_version(), _plain(settings)])
    except (TypeError, UnicodeEncodeError):
        return None
    return hashlib.blake2b(content, digest_size=12).hexdigest()


@lru_cache(maxsize=64)
def _known_fingerprint(settings: Hashable) -> str | None:
    return fingerprint(settings)


def _plain(value: object) -> Any:
    if isinstance(value, frozenset):
        return sorted(map(_plain, value))
    if isinstance(value, tuple):
        return [_plain(one) for one in value]
    if isinstance(value, Mapping):
        return sorted([key, _plain(one)] for key, one in value.items())
    kind = type(value)
    if isinstance(value, msgspec.Struct):
        names: Iterable[str] = value.__struct_fields__
    elif dataclasses.is_dataclass(value):
        names = [field.name for field in dataclasses.fields(value)]
    else:
        return value
    return [f"{kind.__module__}.{kind.__qualname__}", [[name, _plain(getattr(value, name))] for name in names]]
