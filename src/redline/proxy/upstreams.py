"""Where requests go: one fixed address for each provider, chosen by what a request is, never by an address in it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from redline.errors import ValidationError

__all__ = ["UPSTREAMS", "Upstream", "parse_upstreams", "provider_of"]

UPSTREAMS: dict[str, str] = {
    "anthropic": "https://api.anthropic.com",
    "openai": "https://api.openai.com",
    "gemini": "https://generativelanguage.googleapis.com",
}
"""The providers' own addresses."""

_VERSIONED: dict[str, tuple[str, frozenset[str]]] = {
    "anthropic": ("/v1", frozenset({"messages", "models", "complete", "files"})),
    "openai": ("/v1", frozenset({"chat", "responses", "models", "completions", "embeddings", "files", "conversations"})),
    "gemini": ("/v1beta", frozenset({"models", "files", "cachedContents"})),
}
"""What a provider's paths begin with, and the first names after it: SDKs differ in whether a base URL holds the version."""


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
        version, names = _VERSIONED[self.provider]
        first, slash, rest = path.lstrip("/").partition("/")
        if not self.base and first.partition(":")[0] in names:
            path = version + path
        elif f"/{first}" in (version, "/v1", "/v1beta") and self.base.endswith(f"/{first}"):
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
    return {provider: _upstream(provider, url) for provider, url in addresses.items()}


def _upstream(provider: str, url: str) -> Upstream:
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
    proxies, host = getproxies(), str(parts.hostname)
    proxy = None if proxy_bypass(host) or _is_local(host) else proxies.get(parts.scheme, proxies.get("all"))
    return Upstream(provider, f"{parts.scheme}://{parts.netloc}", parts.path.rstrip("/"), proxy)


def _is_local(host: str) -> bool:
    return host in ("localhost", "::1") or host.startswith("127.")


def provider_of(path: str, headers: Mapping[str, str]) -> str:
    """Whose request it is where the path names no API: by the credentials' header, the version's, or the path."""
    if "anthropic-version" in headers or "x-api-key" in headers:
        return "anthropic"
    if "x-goog-api-key" in headers or "/v1beta" in path or ":generateContent" in path or ":streamGenerateContent" in path:
        return "gemini"
    if path == "/" or path.startswith("/api/hello"):  # Claude Code asks without any header whether someone is there
        return "anthropic"
    return "openai"
