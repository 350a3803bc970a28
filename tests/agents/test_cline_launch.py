import json

import pytest

from redline.agents.registry import find_agent
from tests.agents.launching.launches import PROXY, launch

AGENT = find_agent("cline")


@pytest.fixture
def providers(tmp_path):
    """Its file, with a key for two providers and a login for a third."""
    path = tmp_path / "home" / ".cline" / "data" / "settings" / "providers.json"
    path.parent.mkdir(parents=True)
    entries = {
        "openai-native": {"settings": {"apiKey": "k", "model": "m", "baseUrl": "http://gateway/v1"}},
        "anthropic": {"settings": {"apiKey": "k"}},
        "cline": {"settings": {"auth": {"refreshToken": "r"}}},
    }
    path.write_text(json.dumps({"version": 1, "lastUsedProvider": "openai-native", "providers": entries}))
    return path


def test_it_gets_a_copy_of_its_providers(tmp_path, providers):
    """With the proxy as address and all else as it was; its own file is not touched. A running hub is passed over."""
    before = providers.read_bytes()
    route = AGENT.route(launch(tmp_path, "hi"), PROXY)
    copy = json.loads(route.private_files["CLINE_PROVIDER_SETTINGS_PATH"])
    expected = json.loads(before)
    for name in ("openai-native", "anthropic"):
        expected["providers"][name]["settings"]["baseUrl"] = f"{PROXY}/v1"
    assert copy == expected
    assert (route.arguments, route.environment) == (("hi",), {"CLINE_SESSION_BACKEND_MODE": "local"})
    assert providers.read_bytes() == before


@pytest.mark.parametrize("flags", [("-P", "cline"), ("--provider=openrouter",)])
def test_a_login_or_another_provider_is_not_routed(tmp_path, providers, flags):
    """A token that is renewed in a copy would be lost to the user, so there is no copy."""
    route = AGENT.route(launch(tmp_path, *flags, "hi"), PROXY)
    assert (route.is_routed, dict(route.private_files), dict(route.environment)) == (False, {}, {})
    assert "do not pass Redline" in route.notes[0]


def test_commands_that_ask_no_model_see_the_users_own_file(tmp_path, providers):
    """`cline auth` would write into the copy."""
    route = AGENT.route(launch(tmp_path, "auth", "-p", "anthropic"), PROXY)
    assert (route.is_routed, dict(route.private_files)) == (False, {})


def test_without_a_file_it_is_not_routed(tmp_path):
    """There is no key in it either; the note says how to give one."""
    assert "cline auth" in AGENT.route(launch(tmp_path), PROXY).notes[0]


@pytest.mark.parametrize("how", ["--data-dir", "--config", "CLINE_DATA_DIR", "CLINE_DIR", "CLINE_PROVIDER_SETTINGS_PATH"])
def test_the_file_is_looked_for_where_cline_does(tmp_path, how):
    """In the folder that a flag or a variable names."""
    end = "" if how.endswith("PATH") else "settings/providers.json"
    path = tmp_path / "own" / ("data" if how in ("--config", "CLINE_DIR") else "") / end
    path = path / "p.json" if not end else path
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({"providers": {"gemini": {"settings": {"baseUrl": "http://a"}}}}))
    place = str(path) if not end else str(tmp_path / "own")
    started = launch(tmp_path, how, place) if how.startswith("-") else launch(tmp_path, **{how: place})
    assert [(one.provider, one.url) for one in AGENT.base_urls(started)] == [("gemini", "http://a")]
