"""Records of older versions become records of the present one, in a chain of small steps."""

from collections.abc import Callable

import msgspec

from redline.errors import LogError

__all__ = ["MIGRATIONS", "VERSION", "Fields", "Migration", "check_version", "migrate"]

VERSION = 4
"""Of the records that are written now."""

Fields = dict[str, msgspec.Raw]
"""A record's fields as JSON that nobody has parsed, so that payloads pass through a migration byte for byte."""

Migration = Callable[[Fields], Fields]

MIGRATIONS: dict[int, Migration] = {step: lambda fields: fields for step in (1, 2, 3)}
"""By the version that a step starts from: 4 leads from version 4 to version 5.

1 to 2: records of lifted strikes, and what a request cost, are new; nothing that was there looks different.
2 to 3: what resent histories need is new: digests of messages, names of sessions, what is left alone or kept in the cache.
3 to 4: what people say of a conversation is new: title, user, tags.
"""


def migrate(fields: Fields, version: int) -> Fields:
    """A record's fields as the present version has them."""
    check_version(version)
    for step in range(version, VERSION):
        fields = MIGRATIONS[step](fields)
    return fields


def check_version(version: int) -> None:
    """Refuse a version that no chain of steps leads away from."""
    if version > VERSION:
        raise LogError(
            f"it was written by a newer Redline (log version {version}, this one knows {VERSION}). Run: pip install -U redline"
        )
    if any(step not in MIGRATIONS for step in range(version, VERSION)):
        raise LogError(f"it says that its version is {version}, and there never was such a version.")
