"""A holdout: a share of the sessions is sent as it came, so that the others have something to be compared with."""

import re
from collections import OrderedDict
from typing import TYPE_CHECKING

from redline.errors import ValidationError
from redline.providers.api import Body

if TYPE_CHECKING:
    from redline.conversation.editor import EditedRequest, Editor

HELD_OUT = "holdout: this session is sent as it came, to compare the others with"
"""Why such a call is untouched."""
NO_ARM = ""
_MOST_SHARE = 0.5
_MOST_REMEMBERED = 10_000
_SHARE = re.compile(r"(\d{1,3}(?:\.\d+)?) ?(%?)")


def parse_share(text: str) -> float:
    """The share of sessions that is held out: `10%`, or `0.1`; nothing for an empty text."""
    if not text.strip():
        return 0.0
    found = _SHARE.fullmatch(text.strip())
    share = float(found[1]) / (100 if found[2] else 1) if found else -1.0
    if not 0 <= share <= _MOST_SHARE:
        raise ValidationError(f"--holdout must be a share from 0% to {_MOST_SHARE:.0%}, such as 10%, not {text[:40]!r}")
    return share


def held_out(namespace: str) -> str:
    """Where the histories of sessions are that are held out: apart, as strikes that were never sent must not count."""
    return f"observed holdout {namespace}"


class Holdout:
    """Says which sessions are held out, and remembers it. For use from any number of threads."""

    def __init__(self, editor: "Editor", share: float) -> None:
        self._editor, self._share = editor, share
        self._arms: OrderedDict[tuple[str, str | bytes], str] = OrderedDict()
        """By namespace and session, or the first message of a history without a name."""
        self._recorded: set[str] = set()

    def arm_of(self, body: Body, session: str, namespace: str) -> str:
        """The arm of a call; empty where its history began before there was a holdout, or where there is none."""
        if not self._share:
            return NO_ARM
        first = body.messages[0] if body.messages else b""
        key = namespace, session or (first if isinstance(first, bytes) else repr(first))
        arm = self._arms.get(key)
        if arm is None:
            arm = self._editor.arm_of(
                body.messages,
                self._share,
                held=held_out(namespace),
                session=session,
                format=body.format,
                namespace=namespace,
            )
            self._arms[key] = arm
            if len(self._arms) > _MOST_REMEMBERED:
                self._arms.popitem(last=False)
        return arm

    def record(self, request: "EditedRequest", arm: str) -> None:
        """Have the log of a request say its arm, once."""
        if (arm == "edited" or arm == "holdout") and request.log and request.log not in self._recorded:
            self._editor.record_arm(request, "holdout" if arm == "holdout" else "edited")
            self._recorded.add(request.log)
