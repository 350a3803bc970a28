"""How a proxy is to run, checked where it is said."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from redline.blobs.opening import open_blobs
from redline.errors import ValidationError
from redline.listening import Access, is_loopback
from redline.log.addresses import parse_address
from redline.policy import check_blobs
from redline.presets import find_policy
from redline.proxy.upstreams import Upstream, parse_upstreams

__all__ = ["ProxySettings", "check_origins", "check_token"]

_LEAST_TOKEN = 16
_GIVE_BLOBS = "Give --blobs ADDRESS, with a folder or a bucket, or another --policy."
_MOST_WORKERS = 256


@dataclass(frozen=True, slots=True)
class ProxySettings:
    """What `redline proxy` was told."""

    store: str
    """A folder, or the address of a database."""
    host: str = "127.0.0.1"
    port: int = 8484
    """0: any that is free."""
    policy: str = "default"
    """A name, or the path of a file."""
    blobs: str = ""
    """Where offloaded results go: a folder or a bucket; empty: nowhere."""
    upstreams: Mapping[str, Upstream] = field(default_factory=lambda: parse_upstreams(()))
    is_dry_run: bool = False
    workers: int = 1
    token: str = field(default="", repr=False)
    allowed_hosts: tuple[str, ...] = ()
    allowed_origins: tuple[str, ...] = ()
    """Web pages that may use it."""
    edits_subscriptions: bool = False
    redacts: bool = False
    deadline_ms: float = 100.0
    exports_telemetry: bool = False
    """To where the variables OTEL_… say."""
    started_at: float = 0.0
    """Seconds since 1970; all workers count this run from here."""
    run: str = ""
    """The run of `redline run` that it was started for, and that all its requests belong to."""
    keys: tuple[bytes, ...] = field(default=(), repr=False)
    """By which it proves to its owner's programs whose it is."""

    def __post_init__(self) -> None:
        """Refuse what cannot be served, or not safely."""
        parse_address(self.store)
        if not is_loopback(self.host) and not self.token:
            raise ValidationError(
                f"{self.host} can be reached from other machines. Give --token, which clients must then send as "
                "x-redline-token or in their base URL as /t/TOKEN, or leave --host at 127.0.0.1."
            )
        check_token(self.token)
        check_origins(self.allowed_origins)
        if not 1 <= self.workers <= _MOST_WORKERS:
            raise ValidationError(f"--workers must be from 1 to {_MOST_WORKERS}, not {self.workers}")
        if not self.deadline_ms > 0:
            raise ValidationError(f"--deadline must be more than 0 ms, not {self.deadline_ms:g}")
        check_blobs(find_policy(self.policy).made_rules(), self.blobs or None, _GIVE_BLOBS)
        if self.blobs:
            open_blobs(self.blobs)

    @property
    def mode(self) -> str:
        """Whether requests are changed."""
        return "dry-run" if self.is_dry_run else "edit"

    @property
    def access(self) -> Access:
        """Who may use it."""
        hosts, origins = (frozenset(map(str.lower, names)) for names in (self.allowed_hosts, self.allowed_origins))
        return Access(self.host, self.token, hosts, origins)


def check_origins(origins: tuple[str, ...]) -> None:
    """Refuse what no browser sends as the origin of a page, and `null`, which any page can send."""
    for origin in origins:
        if not re.fullmatch(r"(?i)[a-z][a-z0-9+.-]*://[^/?#@\s]+", origin):
            raise ValidationError(f"{origin!r} is no origin. Write the scheme, the host and the port: http://localhost:3000.")


def check_token(token: str) -> None:
    """Refuse a token that can be guessed, or that no path can carry; an empty one is none."""
    if token and (len(token) < _LEAST_TOKEN or not re.fullmatch(r"[A-Za-z0-9._~-]+", token)):
        raise ValidationError(f"A token has at least {_LEAST_TOKEN} letters, digits, dots, dashes or underscores.")
