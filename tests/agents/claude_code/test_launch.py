import json

import pytest

from redline.agents.launching import BaseUrl
from redline.agents.registry import find_agent
from redline.errors import ValidationError
from tests.agents.launching.launches import PROXY, launch

AGENT = find_agent("/usr/local/bin/claude")


def settings_of(route):
    """What its `--settings` flag says, which is first and alone."""
    assert route.arguments.count("--settings") == 1
    assert route.arguments[0] == "--settings"
    return json.loads(route.arguments[1])


def test_a_flag_leads_it_to_the_proxy(tmp_path):
    """Ahead of all other arguments, without a version, with tool search on, and nothing in the environment."""
    route = AGENT.route(launch(tmp_path, "-p", "hi"), PROXY)
    assert settings_of(route) == {"env": {"ANTHROPIC_BASE_URL": PROXY, "ENABLE_TOOL_SEARCH": "true"}}
    assert route.arguments[2:] == ("-p", "hi")
    assert (route.environment, route.notes, route.is_routed) == ({}, (), True)


@pytest.mark.parametrize("is_file", [False, True])
def test_the_users_own_settings_flag_is_kept(tmp_path, is_file):
    """Given as JSON or as a file, it is passed on with the address added: two flags would be one too many."""
    own = json.dumps({"model": "opus", "env": {"A": "1", "ENABLE_TOOL_SEARCH": "auto"}})
    if is_file:
        (tmp_path / "own.json").write_text(own)
    route = AGENT.route(launch(tmp_path, "--settings", "own.json" if is_file else own, "-p", "hi"), PROXY)
    expected = {"A": "1", "ENABLE_TOOL_SEARCH": "auto", "ANTHROPIC_BASE_URL": PROXY}
    assert settings_of(route) == {"model": "opus", "env": expected}
    assert route.arguments[2:] == ("-p", "hi")


def test_what_follows_two_dashes_is_the_users_prompt(tmp_path):
    """A prompt that looks like the flag is no flag."""
    route = AGENT.route(launch(tmp_path, "-p", "--", "--settings"), PROXY)
    assert route.arguments[2:] == ("-p", "--", "--settings")


def test_an_address_in_the_users_flag_wins(tmp_path):
    """It is started as it was asked for, and the user is told."""
    flag = json.dumps({"env": {"ANTHROPIC_BASE_URL": "https://gateway"}})
    route = AGENT.route(launch(tmp_path, f"--settings={flag}"), PROXY)
    assert (route.is_routed, route.arguments) == (False, (f"--settings={flag}",))
    assert "https://gateway" in route.notes[0]


def test_another_cloud_is_not_routed(tmp_path):
    """Bedrock and Vertex have other addresses and other signatures."""
    route = AGENT.route(launch(tmp_path, CLAUDE_CODE_USE_BEDROCK="1"), PROXY)
    assert not route.is_routed
    assert "CLAUDE_CODE_USE_BEDROCK" in route.notes[0]


def test_the_users_settings_file_comes_before_the_variable(tmp_path):
    """R124: as Claude Code has it; the project's file is listed and never an upstream."""
    for folder, url in (("home/.claude", "http://user"), (".claude", "http://project")):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "settings.json").write_text(json.dumps({"env": {"ANTHROPIC_BASE_URL": url}}))
    found = list(AGENT.base_urls(launch(tmp_path, ANTHROPIC_BASE_URL="http://variable")))
    assert [one.url for one in found] == ["http://project", "http://user", "http://variable"]
    assert [one.is_project for one in found] == [True, False, False]
    assert AGENT.upstreams(launch(tmp_path)) == {"anthropic": found[1]}
    assert found[2] == BaseUrl("anthropic", "http://variable", "the variable ANTHROPIC_BASE_URL")


def test_a_damaged_settings_file_is_named(tmp_path):
    """Where it sends requests cannot be told, so nothing is started."""
    (tmp_path / ".claude").mkdir()
    (tmp_path / ".claude" / "settings.json").write_text("{")
    with pytest.raises(ValidationError, match=r"settings\.json is not JSON"):
        AGENT.route(launch(tmp_path), PROXY)
    with pytest.raises(ValidationError, match="--settings is not JSON"):
        AGENT.route(launch(tmp_path / "elsewhere", "--settings", "{"), PROXY)
