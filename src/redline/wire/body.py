"""A request's body, cut into its messages, and put together again around those that changed."""

import codecs
import re
from collections.abc import Sequence
from dataclasses import dataclass

from redline.errors import ExecutionError
from redline.formats import find_format
from redline.values import payloads

__all__ = ["Body"]

_SPACE = b" \t\r\n"
_PIECE_BYTES = 1 << 15
"""How much is looked at in one go: what fits into the processor's cache is read several times as fast."""
_MOST_CANDIDATES = 8
"""How often what begins like the list of messages is looked at before the whole body is."""
_GAP = re.compile(rb"[ \t\r\n]*,?[ \t\r\n]*")
"""What is between two messages, or after the last."""
_UNMISTAKABLE = re.compile(rb'\{[ \t\r\n]*"[^\s:,\]}]')
"""How a message begins that cannot be found inside a text: there the quote would end the text, and nothing of this follows."""


@dataclass(frozen=True, slots=True)
class Body:
    """What a client sent, and what Redline must know of it."""

    raw: bytes
    format: str
    messages: tuple[bytes, ...] = ()
    """Each as the client wrote it."""
    model: str = ""
    preamble: object = None
    """What is sent apart from the messages and changes the provider's cache key, as JSON values."""
    session: str = ""
    """The name of the session that the body holds."""
    lifetime: str = ""
    """How long the client asked the provider to keep the prefix: "5m", "1h", or nothing."""
    is_streamed: bool = False
    untouchable: str = ""
    """Why it must be passed on as it is; empty where it may be changed."""
    account: str = ""
    """The account that the body names."""

    @property
    def is_utf8(self) -> bool:
        """Whether it is text at all. Bodies are not asked on the way in: for long ones of many scripts it takes a while."""
        decoder = codecs.getincrementaldecoder("utf-8")()
        try:
            for start in range(0, len(self.raw), _PIECE_BYTES):
                piece = self.raw[start : start + _PIECE_BYTES]
                if not piece.isascii() or decoder.getstate()[0]:
                    decoder.decode(piece)
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            return False
        return True

    def splice(self, pieces: Sequence[tuple[int | None, bytes]]) -> bytes:
        """The client's body with these messages, each with its position in the client's list, or None for a new one.

        Every byte outside of the messages is the client's, and so is what it wrote between two of them, as far as it goes.
        Where nothing changed, the very same bytes are returned.
        """
        positions, said = tuple(position for position, _ in pieces), tuple(payload for _, payload in pieces)
        if said == self.messages and positions == tuple(range(len(said))):
            return self.raw
        if None not in positions and (found := self._place_if_joined()):
            start, end, between = found
            return b"".join((self.raw[:start], between.join(said), self.raw[end:]))
        spans = self._spans()
        parts = [self.raw[: spans[0][0]]]
        before: int | None = None
        for number, (position, payload) in enumerate(pieces):
            if number:
                parts.append(self._separator(spans, before, position))
            parts.append(payload)
            before = position
        return b"".join((*parts, self.raw[spans[-1][1] :]))

    def _place_if_joined(self) -> tuple[int, int, bytes] | None:
        """Where the list of messages is, and what is between them, if that is the same everywhere, as most clients write it.
        None where that is not so, or where it has to be looked at more closely."""
        first, raw = self.messages[0], self.raw
        at = raw.find(first) if _UNMISTAKABLE.match(first) else -1
        if at < 1 or not raw.endswith(b"[", 0, at):
            return None
        between = _GAP.match(raw, at + len(first)).group()  # type: ignore[union-attr]  # it always matches
        joined = between.join(self.messages)
        end = at + len(joined)
        if not raw.startswith(joined, at) or not raw.startswith(b"]", end) or raw.find(first, end) >= 0:
            return None
        return at, end, between

    def _separator(self, spans: Sequence[tuple[int, int]], before: int | None, after: int | None) -> bytes:
        """What the client wrote after the one message, else before the other; a comma between two that it never wrote."""
        if before is not None and before + 1 < len(spans):
            return self.raw[spans[before][1] : spans[before + 1][0]]
        return self.raw[spans[after - 1][1] : spans[after][0]] if after else b","

    def _spans(self) -> list[tuple[int, int]]:
        """Where each message begins and ends.

        The messages are known, so the place is the one where all of them follow each other in a list. Only if there are
        several (a client may write a key twice, and the last one counts) is the whole body read.
        """
        found: list[list[tuple[int, int]]] = []
        first = self.messages[0]
        at = self.raw.find(first) if _UNMISTAKABLE.match(first) else -1
        for _ in range(_MOST_CANDIDATES):
            if at < 0:
                break
            spans = self._spans_from(at)
            found += [spans] if spans else []
            at = self.raw.find(first, spans[-1][1] if spans else at + 1)
        if at < 0 and len(found) == 1:
            return found[0]
        if (spans := self._spans_from(self._start_of_list())) is None:
            raise ExecutionError(f"The messages of a body of {self.format} were not found in it again. It is sent as it came.")
        return spans

    def _spans_from(self, at: int) -> list[tuple[int, int]] | None:
        """The places of the messages if the first is here; None if what follows is not the list of them."""
        raw, spans = self.raw, []
        before = at - 1
        while before > 0 and raw[before] in _SPACE:
            before -= 1
        if raw[before : before + 1] != b"[":
            return None
        for message in self.messages:
            if not raw.startswith(message, at):
                return None
            end = at + len(message)
            spans.append((at, end))
            at = _GAP.match(raw, end).end()  # type: ignore[union-attr]  # it always matches
        return spans if raw.startswith(b"]", at) else None

    def _start_of_list(self) -> int:
        """Where the first message of the last list under its key is."""
        text = self.raw.decode("utf-8", "surrogateescape")
        name = find_format(self.format).messages_field
        top = payloads.skip_space(text, 1 if text.startswith("\ufeff") else 0)
        starts = [start for key, _, start, _ in payloads.members_of(text, top) if key == name]
        inside = payloads.skip_space(text, starts[-1] + 1)
        return len(text[:inside].encode("utf-8", "surrogateescape"))
