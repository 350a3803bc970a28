"""What a projection has worked out is stored now and then, so that opening a conversation need not work it out again."""

import dataclasses
import hashlib
from collections.abc import Callable
from functools import cache
from importlib.metadata import version
from typing import Any

import msgspec

from redline.engine.account import Booked
from redline.engine.marking import Marked
from redline.engine.outgoing import Settled
from redline.engine.state import State
from redline.log.records import Checkpoint

__all__ = ["Keeper", "Known", "fingerprint"]

_LEAST_MESSAGES = 50
"""Fewer are worked out again in a moment."""
_LEAST_SHARE = 16
"""What was said since the last checkpoint must be so many times as large as that was: the log grows by a sixteenth at most."""


class Known(msgspec.Struct, frozen=True):
    """All of it follows from the record and the settings; it is only there to be quick."""

    settled: Settled
    marked: Marked
    accounts: tuple[Booked, ...] = ()


class Keeper:
    """Makes the checkpoints of one projection, and takes up the latest."""

    def __init__(self, state: State, settings: object) -> None:
        self._state, self._made_with = state, fingerprint(settings)
        self._visible = self._ids = self._size = 0
        """How far the last checkpoint reached, how many ids it and those before held, its size."""

    def latest(self) -> Known | None:
        """What the record says was worked out; None if nothing, or by other settings or another version."""
        checkpoint = self._state.checkpoints.get(self._made_with or "")
        known = _decoded(checkpoint.known) if checkpoint is not None else None
        if checkpoint is None or known is None:
            self._visible = self._ids = self._size = 0
            return None
        self._visible, self._ids, self._size = known.marked.visible, len(checkpoint.ids), len(checkpoint.known)
        return _with_ids(known, checkpoint.ids)

    def checkpoint(self, known: Callable[[], Known | None], *, is_end: bool) -> Checkpoint | None:
        """One to be stored, if that is worth it by now."""
        if not self._is_worth_it(is_end=is_end) or self._made_with is None:
            return None
        self._visible = len(self._state.view.indices)
        worked_out = known()
        content = _encoded(_with_ids(worked_out, ())) if worked_out is not None else None
        if worked_out is None or content is None:
            return None
        ids, before = worked_out.settled.standing.ids, self._ids
        self._ids, self._size = len(ids), len(content)
        return Checkpoint(self._made_with, content, self._state.votes, ids[before:], follows=before > 0)

    def _is_worth_it(self, *, is_end: bool) -> bool:
        said = self._state.view.indices[self._visible :]
        if len(said) < _LEAST_MESSAGES:
            return False
        return is_end or sum(len(self._state.payload(index)) for index in said) >= _LEAST_SHARE * self._size


def fingerprint(settings: object) -> str | None:
    """A name for settings, the same in every process; None if they hold something that is not made of plain values."""
    try:
        content = msgspec.json.encode([_version(), _plain(settings)])
    except (TypeError, UnicodeEncodeError):
        return None
    return hashlib.blake2b(content, digest_size=12).hexdigest()


@cache
def _version() -> str:
    return version("redline")


def _plain(value: object) -> Any:
    if isinstance(value, frozenset):
        return sorted(map(_plain, value))
    if isinstance(value, tuple):
        return [_plain(one) for one in value]
    if not dataclasses.is_dataclass(value):
        return value
    kind = type(value)
    fields = [[field.name, _plain(getattr(value, field.name))] for field in dataclasses.fields(value)]
    return [f"{kind.__module__}.{kind.__qualname__}", fields]


def _with_ids(known: Known, ids: tuple[str, ...]) -> Known:
    """The ids only grow, so each checkpoint stores those that are new, beside the rest."""
    replace, settled = msgspec.structs.replace, known.settled
    return replace(known, settled=replace(settled, standing=replace(settled.standing, ids=ids)))


def _encoded(known: Known) -> bytes | None:
    """As JSON; None if it holds text that JSON cannot."""
    try:
        return msgspec.json.encode(known)
    except UnicodeEncodeError:
        return None


def _decoded(content: bytes) -> Known | None:
    """None if it was damaged, or written by another version."""
    try:
        return msgspec.json.decode(content, type=Known)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
