"""What an inspector is started with, checked before anything listens."""

import secrets
from dataclasses import dataclass, field

from redline.errors import ValidationError
from redline.listening import Access, is_loopback

__all__ = ["InspectorSettings"]


@dataclass(frozen=True, slots=True, kw_only=True)
class InspectorSettings:
    """Where it listens, what it serves, and who may look."""

    places: tuple[str, ...] = ()
    """Files, folders and addresses; none for the sessions on this computer."""
    host: str = "127.0.0.1"
    port: int = 8585
    allows_others: bool = False
    """Whether other machines may reach it."""
    allowed_hosts: tuple[str, ...] = ()
    is_read_only: bool = False
    """Whether no action is taken on logs either."""
    token: str = field(default_factory=lambda: secrets.token_urlsafe(24), repr=False)
    """What every request must show: in the address first, in a cookie then. Other users of this machine do not know it."""

    def __post_init__(self) -> None:
        if not self.is_local and not self.allows_others:
            raise ValidationError(
                f"{self.host} can be reached from other machines, and sessions hold source code, commands and secrets. "
                "Leave --host at 127.0.0.1, or add --allow-others."
            )

    @property
    def is_local(self) -> bool:
        """Whether only this machine reaches it."""
        return is_loopback(self.host)

    @property
    def access(self) -> Access:
        """Who may use it."""
        return Access(self.host, self.token, frozenset(name.lower() for name in self.allowed_hosts))

    @property
    def url(self) -> str:
        """Where the page is, with the token that lets a browser in."""
        shown = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{shown}:{self.port}/?token={self.token}"
