"""What the index of a store says of deleted logs is blanked where it is: no line moves, since others are reading it."""

from collections.abc import Collection

from redline.errors import LogError
from redline.log import codec
from redline.log.records import HistoryStarted

__all__ = ["blanked"]


def blanked(line: bytes, names: Collection[str]) -> bytes | None:
    """The line, as long as before, without the names of log, session and namespace; None if it is of no log of these names."""
    try:
        read = codec.decode(line)
    except LogError:
        return None
    if read is None or not isinstance(read.stored.record, HistoryStarted) or read.stored.record.log not in names:
        return None

    def sealed(filler: str) -> bytes:
        body = codec.encode_record(HistoryStarted(filler, "", ""))
        (sealed,) = codec.sealed_lines([body], first=read.stored.number, parent=read.stored.parent)
        return sealed

    return sealed("-" * (len(line) - len(sealed(""))))
