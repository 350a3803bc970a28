import pytest

from redline.agents.registry import find_agent
from tests.agents.launching.launches import PROXY, launch

anthropic = pytest.importorskip("anthropic")
openai = pytest.importorskip("openai")

AGENT = find_agent("python")


def test_variables_lead_a_program_to_the_proxy(tmp_path, monkeypatch):
    """The SDKs take them, each with the version or without it as it wants."""
    route = AGENT.route(launch(tmp_path, "my_agent.py"), PROXY)
    assert route.arguments == ("my_agent.py",)
    for name, value in route.environment.items():
        monkeypatch.setenv(name, value)
    assert str(anthropic.Anthropic(api_key="k").base_url).rstrip("/") == PROXY
    assert str(openai.OpenAI(api_key="k").base_url).rstrip("/") == f"{PROXY}/v1"
    assert route.environment["GOOGLE_GEMINI_BASE_URL"] == PROXY


def test_addresses_in_the_environment_are_found(tmp_path):
    """They are where the proxy must send requests on to."""
    found = AGENT.upstreams(launch(tmp_path, OPENAI_BASE_URL="http://a/v1", PATH="/bin"))
    assert {provider: one.url for provider, one in found.items()} == {"openai": "http://a/v1"}
