"""Gemini CLI: its address is a variable, and only a chosen way to sign in makes it start with one."""

from collections.abc import Iterator

from redline.agents.launching import Agent, BaseUrl, Launch, Route, dotenv_redirects
from redline.agents.launching.settings_files import read_dotenv, read_json, text_at
from redline.providers.apis import GEMINI

_VARIABLE = GEMINI.base_url_variable
_KEY = "gemini-api-key"


class GeminiCliAgent(Agent):
    """Google's command-line agent, with an API key."""

    name = "Gemini CLI"
    program = "gemini"
    package = "@google/gemini-cli"
    losses = ("Only an API key is routed: a Google login and Vertex AI have other addresses.",)

    def route(self, launch: Launch, proxy: str) -> Route:
        """The variable, if an API key is used."""
        project, settings = (folder / ".gemini" / "settings.json" for folder in (launch.folder, launch.home))
        if launch.environment.get("GOOGLE_GENAI_USE_VERTEXAI") == "true":
            chosen = "vertex-ai"
        elif launch.environment.get("GOOGLE_GENAI_USE_GCA") == "true":
            chosen = "oauth-personal"
        else:
            named = (text_at(read_json(path), "security", "auth", "selectedType") for path in (project, settings))
            chosen = next(filter(None, named), "")
        if chosen not in ("", _KEY, "gateway"):
            note = f"Gemini CLI signs in by {chosen}, which has another address: its requests do not pass Redline."
            return Route.unrouted(launch, note)
        # Without a chosen way the variable alone makes it a gateway's client, and without a terminal it does not start.
        note = (
            "Gemini CLI with a base URL starts only if a way to sign in is chosen. If it says «Invalid auth method», put "
            f'{{"security": {{"auth": {{"selectedType": "{_KEY}"}}}}}} into {settings}.'
        )
        return Route(launch.arguments, {_VARIABLE: proxy}, notes=() if chosen else (note,))

    def base_urls(self, launch: Launch) -> Iterator[BaseUrl]:
        """The project's `.env` files, which are not followed, the variable, and the user's own `.env` files."""
        yield from dotenv_redirects(launch)
        if url := launch.environment.get(_VARIABLE):
            yield BaseUrl(GEMINI.name, url, f"the variable {_VARIABLE}")
        for path in (launch.home / ".gemini" / ".env", launch.home / ".env"):
            if url := read_dotenv(path).get(_VARIABLE, ""):
                yield BaseUrl(GEMINI.name, url, f"{_VARIABLE} in {path}")
