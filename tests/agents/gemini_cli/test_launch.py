import json

import pytest

from redline.agents.registry import find_agent
from tests.agents.launching.launches import PROXY, launch

AGENT = find_agent("gemini")


def choose(folder, login):
    (folder / ".gemini").mkdir(parents=True)
    (folder / ".gemini" / "settings.json").write_text(json.dumps({"security": {"auth": {"selectedType": login}}}))


def test_a_variable_leads_it_to_the_proxy(tmp_path):
    """With an API key chosen in its settings there is nothing more to say."""
    choose(tmp_path / "home", "gemini-api-key")
    route = AGENT.route(launch(tmp_path, "-p", "hi"), PROXY)
    assert (route.arguments, route.environment, route.notes) == (("-p", "hi"), {"GOOGLE_GEMINI_BASE_URL": PROXY}, ())


def test_without_a_chosen_login_the_user_is_told_what_to_write(tmp_path):
    """Gemini CLI takes the variable for a gateway's, and refuses to start without a terminal."""
    route = AGENT.route(launch(tmp_path, GEMINI_API_KEY="k"), PROXY)
    assert route.is_routed
    assert '{"security": {"auth": {"selectedType": "gemini-api-key"}}}' in route.notes[0]


@pytest.mark.parametrize("where", ["home", "."])
def test_another_login_is_not_routed(tmp_path, where):
    """A Google login has another address; the project's settings count as the user's do."""
    choose(tmp_path / where, "oauth-personal")
    route = AGENT.route(launch(tmp_path), PROXY)
    assert (route.is_routed, "oauth-personal" in route.notes[0]) == (False, True)


@pytest.mark.parametrize("variable", ["GOOGLE_GENAI_USE_VERTEXAI", "GOOGLE_GENAI_USE_GCA"])
def test_a_login_by_variable_is_not_routed(tmp_path, variable):
    """Neither is Vertex AI."""
    assert not AGENT.route(launch(tmp_path, **{variable: "true"}), PROXY).is_routed


def test_the_variable_says_where_requests_went(tmp_path):
    """It is the only place."""
    assert [one.url for one in AGENT.base_urls(launch(tmp_path, GOOGLE_GEMINI_BASE_URL="http://a"))] == ["http://a"]
    assert list(AGENT.base_urls(launch(tmp_path))) == []
