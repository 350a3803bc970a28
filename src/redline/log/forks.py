"""A forked child shares no lock, file position or connection with its parent: it opens what it uses again."""

import os
from typing import Protocol
from weakref import WeakSet

__all__ = ["Inherited", "forget_after_fork"]


class Inherited(Protocol):
    """Something with handles that only the process that opened them may use."""

    def forget(self) -> None:
        """Let go of the handles without a word to whoever is at their other end."""
        ...


def forget_after_fork(thing: Inherited) -> None:
    """In every child that this process forks while the thing lives, make the thing forget its handles."""
    _things.add(thing)


_things: WeakSet[Inherited] = WeakSet()


def _forget_all() -> None:
    for thing in list(_things):
        thing.forget()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_all)
