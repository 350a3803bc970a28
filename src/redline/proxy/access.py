"""Who may use the proxy: the right `Host`, the right token; and what a path carries beside the provider's own."""

import hmac
import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass, replace
from urllib.parse import unquote

__all__ = ["TOKEN_HEADER", "Access", "Target", "is_loopback", "parse_target"]

TOKEN_HEADER = "x-redline-token"
_LOCAL_NAMES = frozenset({"localhost", "ip6-localhost"})
_ANY_ADDRESS = frozenset({"0.0.0.0", "::", ""})


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


@dataclass(frozen=True, slots=True)
class Access:
    """What a request must show before it is looked at."""

    host: str
    """The address that the proxy is bound to."""
    token: str = ""
    """Empty: none is asked for."""
    allowed_hosts: frozenset[str] = frozenset()
    """Further names under which clients reach it."""

    def host_problem(self, headers: Mapping[str, str]) -> str:
        """Why this `Host` is refused; empty if it is not.

        A page in a browser can have its own name point to this machine and then read what it likes (DNS rebinding). The name
        stays in `Host`. An address in numbers cannot be rebound, so any is taken where the proxy listens on all of them.
        """
        name = _host_name(headers.get("host", ""))
        if name in _LOCAL_NAMES or name == self.host.lower() or name in self.allowed_hosts:
            return ""
        if _is_address(name) and (self.host in _ANY_ADDRESS or is_loopback(name)):
            return ""
        return f"It does not answer to the host {name[:100]!r}. Start it with --allow-host NAME if it should."

    def takes_token(self, *given: str) -> bool:
        """Whether the token, if one is asked for, is among those given."""
        return not self.token or any(hmac.compare_digest(one.encode(), self.token.encode()) for one in given)


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches what is bound to it."""
    return host.lower() in _LOCAL_NAMES or (_is_address(host) and ipaddress.ip_address(host).is_loopback)


def _host_name(host: str) -> str:
    """A `Host` without its port."""
    name = host.strip().lower()
    if name.startswith("["):
        return name[1:].partition("]")[0]
    return name.rpartition(":")[0] if name.count(":") == 1 else name


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
