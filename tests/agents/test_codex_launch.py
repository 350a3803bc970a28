import json

import pytest

from redline.agents.registry import find_agent
from redline.errors import ValidationError
from tests.agents.launching.launches import PROXY, launch

AGENT = find_agent("codex")


@pytest.fixture
def folder(tmp_path):
    """Codex's own folder in the home."""
    folder = tmp_path / "home" / ".codex"
    folder.mkdir(parents=True)
    return folder


def test_a_setting_on_the_command_line_leads_it_to_the_proxy(tmp_path):
    """Ahead of the command, with a version; it ignores OPENAI_BASE_URL."""
    route = AGENT.route(launch(tmp_path, "exec", "hi", OPENAI_BASE_URL="http://ignored"), PROXY)
    assert route.arguments == ("-c", f'openai_base_url="{PROXY}/v1"', "exec", "hi")
    assert (route.environment, route.notes, route.upstreams) == ({}, (), {})
    assert list(AGENT.base_urls(launch(tmp_path, OPENAI_BASE_URL="http://ignored"))) == []


@pytest.mark.parametrize("flag", [("-c", 'openai_base_url="http://mine"'), ("--config=openai_base_url='http://mine'",)])
def test_an_address_in_the_users_flag_wins(tmp_path, flag):
    """It is started as it was asked for, and the user is told."""
    route = AGENT.route(launch(tmp_path, *flag, "exec"), PROXY)
    assert (route.is_routed, route.arguments) == (False, (*flag, "exec"))
    assert "http://mine" in route.notes[0]


@pytest.mark.parametrize("flags", [("--oss",), ("-c", "model_provider=ollama"), ()])
def test_another_provider_is_not_routed(tmp_path, folder, flags):
    """Chosen by flag or in the file, it has an address of its own."""
    if not flags:
        (folder / "config.toml").write_text('model_provider = "ollama"\n')
    route = AGENT.route(launch(tmp_path, *flags), PROXY)
    assert not route.is_routed
    assert "do not pass Redline" in route.notes[0]


def test_a_chatgpt_login_goes_to_its_own_backend(tmp_path, folder):
    """Its requests have no version in their path, and the proxy must send them on to ChatGPT, not to the API."""
    (folder / "auth.json").write_text(json.dumps({"OPENAI_API_KEY": None, "tokens": {"access_token": "made-up"}}))
    route = AGENT.route(launch(tmp_path), PROXY)
    assert route.arguments == ("-c", f'openai_base_url="{PROXY}"')
    assert route.upstreams == {"openai": "https://chatgpt.com/backend-api/codex"}
    assert "made-up" not in str(route)
    assert AGENT.route(launch(tmp_path, CODEX_API_KEY="k"), PROXY).upstreams == {}


def test_the_users_file_says_where_requests_went(tmp_path, folder):
    """In the folder that CODEX_HOME names, or in the home."""
    (folder / "config.toml").write_text('openai_base_url = "http://127.0.0.1:9"\n')
    assert [one.url for one in AGENT.base_urls(launch(tmp_path))] == ["http://127.0.0.1:9"]
    assert list(AGENT.base_urls(launch(tmp_path, CODEX_HOME=str(tmp_path)))) == []
    (folder / "config.toml").write_text("=")
    with pytest.raises(ValidationError, match=r"config\.toml is not TOML"):
        AGENT.route(launch(tmp_path), PROXY)
