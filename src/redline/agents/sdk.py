"""Any other program: the SDKs of the three providers take their address from the environment."""

from collections.abc import Iterator

from redline.agents.agent import Agent, BaseUrl, Launch, Route
from redline.agents.project_files import dotenv_redirects

__all__ = ["SdkProgram"]

_VARIABLES = {
    "ANTHROPIC_BASE_URL": ("anthropic", ""),
    "OPENAI_BASE_URL": ("openai", "/v1"),
    "GOOGLE_GEMINI_BASE_URL": ("gemini", ""),
}
"""Whose address each variable holds, and whether that ends with a version."""


class SdkProgram(Agent):
    """A program of the user's that asks a model by an SDK, and names no address itself."""

    name = "a program"
    program = ""
    losses = ("What sets its base URL in code is not routed.",)

    def route(self, launch: Launch, proxy: str) -> Route:
        """The three variables."""
        return Route(launch.arguments, {name: proxy + version for name, (_, version) in _VARIABLES.items()})

    def base_urls(self, launch: Launch) -> Iterator[BaseUrl]:
        """The variables as they are. The project's `.env` files, which the program may read, are not followed."""
        yield from dotenv_redirects(launch)
        for name, (provider, _) in _VARIABLES.items():
            if url := launch.environment.get(name):
                yield BaseUrl(provider, url, f"the variable {name}")
