"""The address of a log as text: what it says, and how it may be shown, without the password that it is opened with."""

import os
import re
from pathlib import PurePath
from urllib.parse import unquote

from redline.errors import ValidationError
from redline.files import check_path

_MASK = "***"


def check_address(address: object) -> str:
    """The address as text; a ValidationError if no log can be there."""
    text = address_text(address)
    if not text:
        raise ValidationError("The address of a log is empty. Write a path, for example chat.jsonl.")
    try:
        os.fsencode(text)
    except UnicodeEncodeError:
        raise _unnameable(text) from None
    if "://" not in text:
        check_path("The address of a log", text)
    return text


def check_file_name(path: str) -> str:
    """Refuse the path of a folder, such as `.`: a log is a file in it."""
    if PurePath(path).name in ("", ".."):
        raise ValidationError(f"{path} is a folder, and a log is a file. Give the path of one, for example chat.jsonl in it.")
    return path


def address_text(address: object) -> str:
    """An address or a path as text, with the home folder for `~`. What is neither raises a ValidationError."""
    text = os.fspath(address) if isinstance(address, str | os.PathLike) else None
    if not isinstance(text, str):
        raise ValidationError(f"An address is a path, or a text such as sqlite:///chats.db#name, not {type(address).__name__}.")
    if "\0" in text:
        raise _unnameable(text)
    return text if "://" in text else os.path.expanduser(text)  # noqa: PTH111 - a Path would lose a trailing slash


def _unnameable(text: str) -> ValidationError:
    return ValidationError(f"The address {masked(text)!r} holds a character that no file name can have.")


# --- passwords

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://(?!/)")
_HOST_WITH_PORT = re.compile(r"[^:/?@]*:\d*[/?]")
_QUERY_VALUE = re.compile(r"([?&])([^?&=]*)=([^&]*)")
_PLAIN_PARAMETERS = re.compile(
    r"host|hostaddr|port|dbname|user|application_name|connect_timeout|options|keepalives\w*|tcp_user_timeout|client_encoding"
    r"|sslmode|sslcert|sslkey|sslrootcert|sslcrl|gssencmode|channel_binding|target_session_attrs|load_balance_hosts"
    r"|mode|cache|timeout|schema|search_path|pool|pool_wait"
)
"""What an address may show of its parameters: any other may be a password under a name that nobody thought of."""
_PASSWORD = re.compile(r"^[a-z][a-z0-9+.-]*://[^/?#@:]*:(.*)@", re.IGNORECASE | re.DOTALL)


def masked(address: str) -> str:
    """The address with `***` for its password, wherever that is: before the host, or among the parameters after a `?`.

    A password should be percent-encoded. If it is not, and it cannot be told where it ends, more is masked rather than less.
    """
    if "://" not in address:
        return address
    place, mark, conversation = address.rpartition("#") if "#" in address else (address, "", "")
    if scheme := _SCHEME.match(place):
        rest = place[scheme.end() :]
        # `host:5432/…` with an @ in a parameter only has no password before the host
        if "@" in rest.partition("?")[0] or not _HOST_WITH_PORT.match(rest):
            # It begins after the first colon, and may hold any character, an @ too.
            before, at, after = rest.rpartition("@")
            user, colon, password = before.partition(":")
            place = scheme[0] + user + colon + (_MASK if password else "") + at + after

    def masked_parameter(found: re.Match[str]) -> str:
        before, name, value = found.groups()
        is_secret = _PLAIN_PARAMETERS.fullmatch(unquote(name).lower()) is None
        return f"{before}{name}={_MASK if is_secret and value else value}"

    return _QUERY_VALUE.sub(masked_parameter, place) + mark + conversation


def without_password(text: str, address: str) -> str:
    """A text about an address, an error of a driver say, with `***` for each mention of its password."""
    found = [match[1] for match in _PASSWORD.finditer(address)]
    for _, name, value in _QUERY_VALUE.findall(address.partition("#")[0]):
        if not _PLAIN_PARAMETERS.fullmatch(unquote(name).lower()):
            found.append(value)
    for secret in sorted({*found, *map(unquote, found)} - {""}, key=len, reverse=True):
        text = text.replace(secret, _MASK)
    return text
