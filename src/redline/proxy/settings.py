"""How a proxy is to run, checked where it is said, and where requests go: one fixed address for each provider."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from urllib.parse import unquote, urlsplit
from urllib.request import getproxies, proxy_bypass

from redline.errors import ValidationError
from redline.files import check_path
from redline.policy.policy import check_blobs, find_policy
from redline.prices import Price
from redline.providers.apis import PROVIDERS
from redline.proxy.spending import SpendLimits
from redline.record.backends import parse_address
from redline.record.blobs.opening import open_blobs
from redline.servers.listening import Access, is_loopback
from redline.store.proxy_files import WholePlace, whole_place
from redline.transport.holdout import parse_share
from redline.store.retention import parse_keep

UPSTREAMS: dict[str, str] = {name: provider.address for name, provider in PROVIDERS.items()}
"""The providers' own addresses."""
_VERSIONS = frozenset(provider.version for provider in PROVIDERS.values())


@dataclass(frozen=True, slots=True)
class Upstream:
    """The address of a provider, and how to reach it."""

    provider: str
    origin: str
    """Scheme, host and port."""
    base: str = ""
    """A path that all paths begin with there; no slash at its end."""
    proxy: str | None = None
    """The HTTP proxy on the way, as the environment says."""

    def url(self, path: str, query: str) -> str:
        """Where a path of the client's is there: below the base, with one version."""
        provider = PROVIDERS[self.provider]
        first, slash, rest = path.lstrip("/").partition("/")
        if not self.base and first.partition(":")[0] in provider.first_names:
            path = provider.version + path
        elif f"/{first}" in _VERSIONS and self.base.endswith(f"/{first}"):
            path = slash + rest
        return f"{self.origin}{self.base}{path}{'?' if query else ''}{query}"


def parse_upstreams(given: Iterable[str]) -> dict[str, Upstream]:
    """Every provider's upstream, from texts such as `openai=https://host/base`; the providers' own where nothing is given."""
    addresses = dict(UPSTREAMS)
    for text in given:
        provider, _, url = text.partition("=")
        if provider not in UPSTREAMS or not url:
            raise ValidationError(f"{text!r} is no upstream. Write {', '.join(f'{name}=URL' for name in UPSTREAMS)}.")
        addresses[provider] = url
    found, proxies = dict[str, Upstream](), getproxies()
    for provider, url in addresses.items():
        parts = urlsplit(url)
        try:
            is_whole = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
        except ValueError:
            is_whole = False
        if not is_whole or parts.query or parts.fragment or "@" in parts.netloc:
            raise ValidationError(
                f"The upstream of {provider} must be http:// or https:// with a host, and perhaps a port and a path; "
                "credentials come with each request."
            )
        host = str(parts.hostname)
        is_direct = host in ("localhost", "::1") or host.startswith("127.") or proxy_bypass(host)
        proxy = None if is_direct else proxies.get(parts.scheme, proxies.get("all"))
        found[provider] = Upstream(provider, f"{parts.scheme}://{parts.netloc}", parts.path.rstrip("/"), proxy)
    return found


@dataclass(frozen=True, slots=True)
class Target:
    """A path, taken apart."""

    path: str
    """The provider's, as the client wrote it."""
    label: str = ""
    """From `/s/<label>/…`."""
    token: str = ""
    """From `/t/<token>/…`."""


def parse_target(path: str) -> Target:
    """What a path says: `/t/<token>` and `/s/<label>` may stand before the provider's path, in any order, each once."""
    target = Target(path)
    for _ in range(2):
        kind, name, rest = ([*target.path.split("/", 3)[1:], "", "", ""])[:3]
        if not name or (kind == "s" and target.label) or (kind == "t" and target.token) or kind not in ("s", "t"):
            break
        target = replace(target, path=f"/{rest}", **{"label" if kind == "s" else "token": unquote(name)})
    return target


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
    whole_in: str = ""
    """The folder for whole results, `off`, or empty for one with the store."""
    upstreams: Mapping[str, Upstream] = field(default_factory=lambda: parse_upstreams(()))
    keep: str = ""
    """How long what is not used stays: `30d`; empty: for good."""
    is_dry_run: bool = False
    holdout: str = ""
    """The share of sessions that is sent as it came, such as `10%`; empty: none."""
    workers: int = 1
    token: str = field(default="", repr=False)
    allowed_hosts: tuple[str, ...] = ()
    allowed_origins: tuple[str, ...] = ()
    """Web pages that may use it."""
    edits_subscriptions: bool = False
    report_usage: str = "sent"
    """What answers tell the agent: `sent`, or `unstruck` for the tokens without strikes."""
    redacts: bool = False
    deadline_ms: float = 100.0
    limits: SpendLimits = field(default_factory=SpendLimits)
    """What sessions and days may cost."""
    prices: tuple[Price, ...] = ()
    """The user's own, which come before list prices."""
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
        parse_share(self.holdout)
        check_blobs(find_policy(self.policy).made_rules(), self.blobs or None, _GIVE_BLOBS)
        if self.blobs:
            open_blobs(self.blobs)
        check_path("--whole-in", self.whole_in)
        parse_keep(self.keep)

    @property
    def mode(self) -> str:
        """Whether requests are changed."""
        return "dry-run" if self.is_dry_run else "edit"

    @property
    def whole_place(self) -> WholePlace:
        """Where whole results are written for agents to read."""
        return whole_place(self.store, self.whole_in, self.host)

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
