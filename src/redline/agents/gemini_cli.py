"""Gemini CLI: its address is a variable, and only a chosen way to sign in makes it start with one."""

from collections.abc import Iterator, Mapping

from redline.agents.agent import Agent, BaseUrl, Launch, Route, read_json
from redline.agents.project_files import dotenv_redirects, read_dotenv

__all__ = ["GeminiCliAgent"]

_VARIABLE = "GOOGLE_GEMINI_BASE_URL"
_KEY = "gemini-api-key"


class GeminiCliAgent(Agent):
    """Google's command-line agent, with an API key."""

    name = "Gemini CLI"
    program = "gemini"
    package = "@google/gemini-cli"
    losses = ("Only an API key is routed: a Google login and Vertex AI have other addresses.",)

    def route(self, launch: Launch, proxy: str) -> Route:
        """The variable, if an API key is used."""
        chosen = _chosen_login(launch)
        if chosen not in ("", _KEY, "gateway"):
            note = f"Gemini CLI signs in by {chosen}, which has another address: its requests do not pass Redline."
            return Route(launch.arguments, notes=(note,), is_routed=False)
        notes: tuple[str, ...] = ()
        if not chosen:  # then the variable alone makes it a gateway's client, and without a terminal it does not start
            settings = launch.home / ".gemini" / "settings.json"
            note = (
                "Gemini CLI with a base URL starts only if a way to sign in is chosen. If it says «Invalid auth method», put "
                f'{{"security": {{"auth": {{"selectedType": "{_KEY}"}}}}}} into {settings}.'
            )
            notes = (note,)
        return Route(launch.arguments, {_VARIABLE: proxy}, notes=notes)

    def base_urls(self, launch: Launch) -> Iterator[BaseUrl]:
        """The project's `.env` files, which are not followed, the variable, and the user's own `.env` files."""
        yield from dotenv_redirects(launch)
        if url := launch.environment.get(_VARIABLE):
            yield BaseUrl("gemini", url, f"the variable {_VARIABLE}")
        for path in (launch.home / ".gemini" / ".env", launch.home / ".env"):
            if url := read_dotenv(path).get(_VARIABLE, ""):
                yield BaseUrl("gemini", url, f"{_VARIABLE} in {path}")


def _chosen_login(launch: Launch) -> str:
    """How it signs in, as the settings say; the project's before the user's."""
    if launch.environment.get("GOOGLE_GENAI_USE_VERTEXAI") == "true":
        return "vertex-ai"
    if launch.environment.get("GOOGLE_GENAI_USE_GCA") == "true":
        return "oauth-personal"
    for folder in (launch.folder, launch.home):
        found = read_json(folder / ".gemini" / "settings.json")
        for key in ("security", "auth", "selectedType"):
            found = found.get(key) if isinstance(found, Mapping) else None
        if isinstance(found, str):
            return found
    return ""
