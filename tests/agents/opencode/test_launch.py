import json

import pytest

from redline.agents.registry import find_agent
from redline.errors import ValidationError
from tests.agents.launching.launches import PROXY, launch

AGENT = find_agent("opencode")
CONTENT = "OPENCODE_CONFIG_CONTENT"


def test_settings_in_a_variable_lead_it_to_the_proxy(tmp_path):
    """Only providers with a key: others would appear among its models. Each address ends as its SDK wants it."""
    keys = {"ANTHROPIC_API_KEY": "k", "GEMINI_API_KEY": "k"}
    route = AGENT.route(launch(tmp_path, "run", "hi", **keys), PROXY)
    providers = json.loads(route.environment[CONTENT])["provider"]
    assert providers == {
        "anthropic": {"options": {"baseURL": f"{PROXY}/v1"}},
        "google": {"options": {"baseURL": f"{PROXY}/v1beta"}},
    }
    assert route.arguments == ("run", "hi")


def test_a_stored_login_counts_as_a_key(tmp_path):
    """It is looked for by name only."""
    folder = tmp_path / "home" / ".local" / "share" / "opencode"
    folder.mkdir(parents=True)
    (folder / "auth.json").write_text(json.dumps({"openai": {"type": "api", "key": "made-up"}}))
    route = AGENT.route(launch(tmp_path), PROXY)
    assert list(json.loads(route.environment[CONTENT])["provider"]) == ["openai"]
    assert "made-up" not in str(route)


def test_what_the_variable_held_is_kept(tmp_path):
    """Redline's address is added to it."""
    own = {"theme": "x", "provider": {"anthropic": {"options": {"timeout": 1, "baseURL": "http://gateway"}}, "mine": {}}}
    route = AGENT.route(launch(tmp_path, **{CONTENT: json.dumps(own)}), PROXY)
    own["provider"]["anthropic"]["options"]["baseURL"] = f"{PROXY}/v1"
    assert json.loads(route.environment[CONTENT]) == own


def test_without_a_key_it_is_not_routed(tmp_path):
    """The user is told which providers are."""
    route = AGENT.route(launch(tmp_path), PROXY)
    assert (route.is_routed, "anthropic, openai or google" in route.notes[0]) == (False, True)


def test_every_place_of_an_address_is_found(tmp_path):
    """R124: the project's file with comments, not followed; the variable with settings, the user's file, the SDK's variable."""
    folder = tmp_path / "home" / ".config" / "opencode"
    folder.mkdir(parents=True)

    def settings(url):
        return json.dumps({"provider": {"anthropic": {"options": {"baseURL": url}}}})

    commented = settings("http://project").replace("}}}}", '}},/* "//" */}, // last\n}')
    (tmp_path / "opencode.jsonc").write_text(commented)
    (folder / "opencode.json").write_text(settings("http://user"))
    found = AGENT.base_urls(launch(tmp_path, **{CONTENT: settings("http://a"), "ANTHROPIC_BASE_URL": "http://variable"}))
    found = list(found)
    assert [one.url for one in found] == ["http://project", "http://a", "http://user", "http://variable"]
    assert [one.is_project for one in found] == [True, False, False, False]


def test_a_variable_that_is_not_json_is_refused(tmp_path):
    """It would stumble over it, too."""
    with pytest.raises(ValidationError, match=f"{CONTENT} is not JSON"):
        AGENT.route(launch(tmp_path, **{CONTENT: "{"}), PROXY)
