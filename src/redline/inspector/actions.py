"""What can be done to a log from the page. Each action appends a record; nothing is deleted, and each can be undone."""

from collections.abc import Callable
from typing import Any

from redline.conversation import Conversation
from redline.errors import ExecutionError, ValidationError
from redline.inspector.opened import OpenedSession
from redline.opening import open as open_conversation

__all__ = ["act"]


def act(session: OpenedSession, asked: object) -> dict[str, Any]:
    """Do what is asked for, and say what was done. What is not possible raises an error that says why."""
    if not session.is_log:
        raise ExecutionError("This is the session of another agent, which Redline does not change. Open it with redline.open.")
    if not isinstance(asked, dict) or not isinstance(asked.get("action"), str) or asked["action"] not in _ACTIONS:
        raise ValidationError(f"An action is one of: {', '.join(_ACTIONS)}.")
    what, name = _ACTIONS[asked["action"]]
    number = asked.get(name)
    if not isinstance(number, int) or isinstance(number, bool):
        raise ValidationError(f"{asked['action']} needs a whole number as {name!r}.")
    with session.lock, open_conversation(session.source.place) as talk:
        says = what(talk, number)
    session.refresh(is_forced=True)
    return {"says": says, "version": session.version}


def _undo(talk: Conversation, number: int) -> str:
    talk.undo(number)
    return f"Strike {number} is undone: the part is sent as it was said from the next request on."


def _pin(talk: Conversation, index: int) -> str:
    talk.pin(index)
    return f"Message {index} is pinned: it is never struck, and strikes on it are undone."


def _unpin(talk: Conversation, index: int) -> str:
    talk.unpin(index)
    return f"Message {index} is no longer pinned."


def _rollback(talk: Conversation, batch: int) -> str:
    talk.rollback(batch)
    return f"Rolled back to batch {batch}: what it showed is visible again. No message is gone."


def _rewind(talk: Conversation, index: int) -> str:
    talk.rewind(index)
    return f"Rewound to just after message {index}. What came after it stays as a branch."


def _switch(talk: Conversation, branch: int) -> str:
    talk.switch(branch)
    return f"The conversation goes on at the end of branch {branch}."


_ACTIONS: dict[str, tuple[Callable[[Conversation, int], str], str]] = {
    "undo": (_undo, "strike"),
    "pin": (_pin, "index"),
    "unpin": (_unpin, "index"),
    "rollback": (_rollback, "batch"),
    "rewind": (_rewind, "index"),
    "switch": (_switch, "branch"),
}
"""What each does, and the name of the number it needs."""
