"""`redline proxy`: an HTTP proxy between an agent and its model's provider that edits what is sent and relays all else."""

from redline.proxy.serve import serve
from redline.proxy.settings import ProxySettings

__all__ = ["ProxySettings", "serve"]
