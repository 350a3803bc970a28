"""Ids for records that a repair adds: the same whenever the same file is repaired."""

from collections.abc import Callable, Iterable
from uuid import NAMESPACE_OID, uuid5

__all__ = ["fresh_uuid"]


def fresh_uuid(seeds: Iterable[object], is_taken: Callable[[str], bool]) -> str:
    """An id made from what the record is about, that no other record has."""
    name = "/".join(map(str, seeds)).encode("utf-8", "backslashreplace").decode()  # an id may hold half an emoji
    while is_taken(fresh := str(uuid5(NAMESPACE_OID, name))):
        name += "/"
    return fresh
