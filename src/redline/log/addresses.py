"""Addresses of databases as they may be shown: without the password."""

import re
from urllib.parse import unquote

__all__ = ["masked", "without_password"]

_USER = re.compile(r"^([a-z][a-z0-9+.-]*://[^/?#@:]*:)(.*)@", re.IGNORECASE | re.DOTALL)
_OPTION = re.compile(r"([?&](?:ssl)?password=)([^&#]*)", re.IGNORECASE)
_HIDDEN = "***"


def masked(address: str) -> str:
    """The address with `***` for its password, wherever an address can hold one. A path stays as it is."""
    return _OPTION.sub(rf"\1{_HIDDEN}", _USER.sub(rf"\1{_HIDDEN}@", address))


def without_password(text: str, address: str) -> str:
    """A text about an address, an error of a driver say, with `***` for each mention of the password."""
    found = [match[2] for pattern in (_USER, _OPTION) for match in pattern.finditer(address)]
    secrets = {*found, *map(unquote, found)} - {""}
    for secret in sorted(secrets, key=len, reverse=True):
        text = text.replace(secret, _HIDDEN)
    return text
