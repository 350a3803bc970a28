"""What hooks folded and saved: the lines that they append to `hooks.accounts`, added up for each session and in all."""

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from redline.files import read_whole, stamp_of
from redline.hooks.answering import DEFAULT_STORE, accounts_file

_CHARS_PER_TOKEN = 4
"""A hook counts characters, which is quick; their tokens are an estimate."""
_NAMES = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]{7,}|ses_\w{8,}")


@dataclass(frozen=True, slots=True)
class HookSavings:
    """Outputs that hooks made smaller before they were first sent."""

    folds: int = 0
    chars: int = 0
    """What tools printed, in the outputs that were folded."""
    sent_chars: int = 0

    @property
    def saved_tokens(self) -> int:
        """What each request that holds these outputs is smaller by: characters are measured, their tokens estimated."""
        return (self.chars - self.sent_chars) // _CHARS_PER_TOKEN

    def plus(self, other: "HookSavings") -> "HookSavings":
        """Both together."""
        return HookSavings(self.folds + other.folds, self.chars + other.chars, self.sent_chars + other.sent_chars)

    def minus(self, before: "HookSavings") -> "HookSavings":
        """What was added since an earlier reading."""
        return HookSavings(self.folds - before.folds, self.chars - before.chars, self.sent_chars - before.sent_chars)


@dataclass(frozen=True, slots=True)
class HookAccounts:
    """The accounts of one store."""

    total: HookSavings = HookSavings()
    by_session: Mapping[str, HookSavings] = field(default_factory=dict)
    """By the names that agents give to their sessions."""

    def of_place(self, place: str) -> HookSavings:
        """What was saved in the session at a path or an address, which has the session's name in it."""
        if not self.by_session:
            return HookSavings()
        last = "/".join(place.rsplit("/", 2)[-2:])
        named = [name for name in self.by_session if name in last]
        return self.by_session[max(named, key=len)] if named else HookSavings()


def read_hook_accounts(store: str = DEFAULT_STORE) -> HookAccounts:
    """The accounts of a store; empty where no hook has folded anything, and for a store that is no folder."""
    if "://" in store:
        return HookAccounts()
    try:
        path = accounts_file(Path(store).expanduser())
    except RuntimeError:  # the home of nobody
        return HookAccounts()
    return _read(path, stamp_of(path))


@lru_cache(maxsize=4)
def _read(path: Path, stamp: tuple[int, ...]) -> HookAccounts:  # noqa: ARG001  # another stamp, another content
    """A line that a crash has torn counts as nothing."""
    by_session, total = dict[str, HookSavings](), HookSavings()
    with suppress(OSError):
        for line in read_whole(path).splitlines():
            with suppress(ValueError, RecursionError):
                session, savings = _entry(json.loads(line))
                total = total.plus(savings)
                if _NAMES.fullmatch(session):
                    by_session[session] = by_session.get(session, HookSavings()).plus(savings)
    return HookAccounts(total, by_session)


def _entry(told: Any) -> tuple[str, HookSavings]:
    """The session and the savings of a line; a ValueError for anything else."""
    match told:
        case {"session": str(session), "chars": int(chars), "sent_chars": int(sent)} if 0 <= sent <= chars < 1 << 40:
            return session, HookSavings(1, chars, sent)
    raise ValueError("no account of a hook")
