"""Whose server it is that answers at a port of this machine: a proof by a secret that only its owner's programs know."""

import hashlib
import hmac
import os
import secrets
from collections.abc import Iterable
from pathlib import Path

from redline.errors import LogError
from redline.files import create_whole, make_directory, open_private

CHALLENGE_HEADER = "x-redline-challenge"
"""Random letters that a program sends to a proxy before it trusts it."""
PROOF_HEADER = "x-redline-proof"
KEY_VARIABLE = "REDLINE_PROXY_KEY"
"""By which `redline run` hands the key of a run to the proxy that it starts."""
SERVED_RUN = "REDLINE_PROXY_RUN"
"""By which it tells the proxy the name of the run."""
_KEY_BYTES = 32
_MOST_CHALLENGE = 200


def make_key() -> bytes:
    """A secret for one run."""
    return secrets.token_bytes(_KEY_BYTES)


def key_of_token(token: str) -> bytes:
    """The key that those who know a proxy's token share. It is slow to compute, since proofs must not help to guess a token."""
    return hashlib.scrypt(token.encode(), salt=b"redline proxy", n=2**14, r=8, p=1, dklen=_KEY_BYTES)


def own_key() -> bytes | None:
    """The key of this user, from a file that nobody else may read; made if there is none. None where it can be neither."""
    path = key_file()
    try:
        if path is None:
            return None
        if not path.exists():
            make_directory(path.parent)
            create_whole(path, make_key().hex().encode())
        handle, _ = open_private(path)
        if handle is None:
            return None
        with os.fdopen(handle, "rb") as file:
            is_mine = not hasattr(os, "geteuid") or os.fstat(file.fileno()).st_uid == os.geteuid()
            key = bytes.fromhex(file.read(1000).decode())
    except (OSError, LogError, ValueError, RuntimeError):
        return None
    return key if is_mine and len(key) == _KEY_BYTES else None


def key_file() -> Path | None:
    """`$XDG_STATE_HOME/redline/proxy.key`, else in `~/.local/state`; None for a user without a home."""
    state = Path(os.environ.get("XDG_STATE_HOME", ""))
    try:
        return (state if state.is_absolute() else Path.home() / ".local" / "state") / "redline" / "proxy.key"
    except RuntimeError:
        return None


def known_keys(token: str) -> tuple[bytes, ...]:
    """The keys by which a proxy proves whose it is: that of its run, else the user's, and the one that its token gives."""
    given = os.environ.pop(KEY_VARIABLE, "")
    own = bytes.fromhex(given) if given else own_key()
    return (*([own] if own else []), *([key_of_token(token)] if token else []))


def proofs(keys: Iterable[bytes], challenge: str, port: int) -> str:
    """The answer to a challenge, with each of the keys that a server has; for its port, so that no other can pass it on."""
    asked = f"{port} {challenge[:_MOST_CHALLENGE]}".encode()
    return " ".join(hmac.new(key, asked, "sha256").hexdigest() for key in keys)


def is_proven(answer: str, keys: Iterable[bytes], challenge: str, port: int) -> bool:
    """Whether a server has answered a challenge with one of the keys."""
    wanted = proofs(keys, challenge, port).split()
    return any(hmac.compare_digest(given.encode(), one.encode()) for given in answer.split() for one in wanted)
