"""Addresses of databases as they may be shown and recorded: without the password that they are opened with."""

import os
import re
from urllib.parse import unquote

from redline.errors import ValidationError

__all__ = ["address_text", "masked", "without_password"]

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://(?!/)")
_QUERY_VALUE = re.compile(r"([?&])([^?&=]*)=([^&]*)")
_SECRET = re.compile(r"pass|secret|token|credential|api_?key", re.IGNORECASE)
_PASSWORD = re.compile(r"^[a-z][a-z0-9+.-]*://[^/?#@:]*:(.*)@", re.IGNORECASE | re.DOTALL)
_OPTION = re.compile(r"[?&](?:ssl)?password=([^&#]*)", re.IGNORECASE)
_MASK = "***"


def address_text(address: object) -> str:
    """An address or a path as text, with the home folder for `~`. What is neither raises a ValidationError."""
    text = os.fspath(address) if isinstance(address, str | os.PathLike) else None
    if not isinstance(text, str):
        raise ValidationError(f"An address is a path, or a text such as sqlite:///chats.db#name, not {type(address).__name__}.")
    if "\0" in text:
        raise ValidationError(f"The address {masked(text)!r} holds a character that no file name can have.")
    return text if "://" in text else os.path.expanduser(text)  # noqa: PTH111 - a Path would lose a trailing slash


def masked(address: str) -> str:
    """The address with `***` for its password, wherever that is: before the host, or among the parameters after a `?`.

    A password should be percent-encoded. If it is not, and it cannot be told where it ends, more is masked rather than less.
    """
    if "://" not in address:
        return address
    place, mark, conversation = address.rpartition("#") if "#" in address else (address, "", "")
    return _without_parameters(_without_password(place)) + mark + conversation


def without_password(text: str, address: str) -> str:
    """A text about an address, an error of a driver say, with `***` for each mention of its password."""
    found = [match[1] for pattern in (_PASSWORD, _OPTION) for match in pattern.finditer(address)]
    for secret in sorted({*found, *map(unquote, found)} - {""}, key=len, reverse=True):
        text = text.replace(secret, _MASK)
    return text


def _without_password(place: str) -> str:
    """`scheme://user:password@host…`: the password begins after the first colon, and may hold any character, an @ too."""
    scheme = _SCHEME.match(place)
    if scheme is None:
        return place
    rest = place[scheme.end() :]
    before, at, after = rest.rpartition("@")
    if _names_a_port(rest):
        before, at, after = "", "", rest
    user, colon, password = before.partition(":")
    return scheme[0] + user + colon + (_MASK if password else "") + at + after


def _names_a_port(rest: str) -> bool:
    """Whether it is `host:5432/…` with an @ in a parameter only, so that there is no password before the host."""
    return re.match(r"[^:/?@]*:\d*[/?]", rest) is not None and "@" not in rest.partition("?")[0]


def _without_parameters(place: str) -> str:
    return _QUERY_VALUE.sub(_without_secret, place)


def _without_secret(found: re.Match[str]) -> str:
    mark, name, value = found.groups()
    is_secret = _SECRET.search(unquote(name)) is not None
    return f"{mark}{name}={_MASK if is_secret and value else value}"
