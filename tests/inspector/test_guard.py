"""Nobody but the page itself reads or changes anything, and the page can load nothing but itself."""

import os
import subprocess
import sys

import pytest

from redline.errors import ValidationError
from redline.inspector.guard import InspectorSettings
from tests.cli.run import FROM_HERE
from tests.inspector.support import inspector, write_transcript

ROUTES = ("/", "/s/abc", "/page/app.js", "/api/sessions", "/api/policies", "/api/events", "/api/sessions/abc")


@pytest.mark.parametrize("path", ROUTES)
@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "localhost.evil.example", "10.0.0.1", ""])
def test_other_names_of_this_machine_are_refused(running, path, host):
    """DNS rebinding: a page of somebody else whose name points here reads nothing."""
    status, _, found = running.ask("GET", path, headers={"Host": host})
    assert status == 403
    assert "host" in found["error"]


@pytest.mark.parametrize("path", ["/api/sessions", "/api/policies", "/page/app.js"])
@pytest.mark.parametrize(
    "headers",
    [{"Origin": "https://evil.example"}, {"Origin": "null"}, {"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"}],
)
def test_other_sites_are_refused(running, path, headers):
    """A browser says where a request comes from."""
    status, _, _ = running.ask("GET", path, headers=headers)
    assert status == 403


def test_a_link_from_elsewhere_opens_the_page(running):
    """Following a link is no attack: the page that opens is our own."""
    status, _, _ = running.ask("GET", "/s/abc", headers={"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"})
    assert status == 200


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({}, 403),
        ({"X-Redline-Token": "wrong", "Content-Type": "application/json"}, 403),
        ({"X-Redline-Token": "", "Content-Type": "application/json"}, 403),
        ({"X-Redline-Token": "{token}", "Content-Type": "text/plain"}, 415),
        ({"X-Redline-Token": "{token}", "Content-Type": "application/json", "Origin": "https://evil.example"}, 403),
        ({"X-Redline-Token": "{token}", "Content-Type": "application/json"}, 200),
    ],
)
@pytest.mark.parametrize("route", ["actions", "what-if"])
def test_what_is_sent_needs_the_token(running, folder, headers, expected, route):
    """A form or a script of another page cannot act: it knows no token, and may not send JSON."""
    body = {"action": "pin", "index": 0} if route == "actions" else {"preset": "default"}
    given = {name: value.replace("{token}", running.token) for name, value in headers.items()}
    before = (folder / "chat.jsonl").read_bytes()
    status, _, _ = running.ask("POST", f"{running.session('chat')}/{route}", body, given)
    assert status == expected
    is_written = (folder / "chat.jsonl").read_bytes() != before
    assert is_written == (expected == 200 and route == "actions")


def test_the_page_knows_the_token(running):
    """And only the page: no address of the API tells it."""
    _, _, html = running.ask("GET", "/")
    assert running.token.encode() in html
    assert running.token not in str(running.get("/api/sessions"))


@pytest.mark.parametrize("path", ROUTES[:5])
def test_every_answer_binds_the_browser(running, path):
    """Nothing is loaded from elsewhere, framed, sniffed or kept."""
    _, headers, _ = running.ask("GET", path)
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "require-trusted-types-for 'script'" in policy
    assert "frame-ancestors 'none'" in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["cross-origin-resource-policy"] == "same-origin"
    assert "access-control-allow-origin" not in headers


@pytest.mark.parametrize(
    "path",
    [
        "/page/../app.py",
        "/page/..%2fapp.py",
        "/page/%2e%2e/serve.py",
        "/page/app.py",
        "/page//etc/passwd",
        "/page/page",
        "/page/",
    ],
)
def test_only_the_files_of_the_page_are_served(running, path):
    """No path leads out of its folder."""
    status, _, found = running.ask("GET", path)
    assert status == 404 or (status == 200 and b"<html" in found)  # an address that is no file is the page itself


@pytest.mark.parametrize("name", ["../../etc/passwd", "%2e%2e%2fchat.jsonl", "a" * 5000, "0" * 12, "\u202e"])
def test_only_sessions_that_are_served_can_be_asked_for(running, name):
    """An id that was never listed is nobody's."""
    status, _, found = running.ask("GET", f"/api/sessions/{name}/messages")
    assert status in (400, 404)
    assert "passwd" not in found["error"]


def test_links_out_of_the_folder_are_not_served(tmp_path):
    """What is served is what lies in the folder."""
    secret = write_transcript(tmp_path / "secret.jsonl")
    place = tmp_path / "served"
    place.mkdir()
    (place / "link.jsonl").symlink_to(secret)
    write_transcript(place / "own.jsonl", 2)
    with inspector(place, home=tmp_path) as served:
        assert [row["name"] for row in served.rows()] == ["own"]


ALL_ROUTES = (
    *ROUTES,
    "/api/sessions/{id}",
    *(
        f"/api/sessions/{{id}}/{name}"
        for name in ("messages", "part", "image", "find", "strikes", "timeline", "records", "compare")
    ),
    "/api/sessions/{id}/requests/0",
    "/api/none",
)


@pytest.mark.parametrize("options", [(), ("--host", "0.0.0.0", "--allow-others")])
def test_everything_asks_for_the_token_always(tmp_path, options):
    """R126: another user of this machine knows the port, not the token: 401 for the page, the data, the events and actions."""
    write_transcript(tmp_path / "talk.jsonl", 2)
    with inspector(tmp_path, home=tmp_path, options=options) as served:
        (row,) = served.rows()
        paths = [path.replace("{id}", row["id"]) for path in ALL_ROUTES]
        wrong = {"Cookie": f"redline_token_{served.port}=wrong; redline_token={served.token}", "X-Redline-Token": "wrong"}
        for path in paths:
            assert served.ask("GET", path, is_known=False)[0] == 401, path
            status, headers, told = served.ask("GET", path, headers=wrong, token="wrong")
            assert (status, headers["set-cookie"]) == (401, None), path
            assert served.token not in str(told)
        acted = [
            served.ask("POST", f"/api/sessions/{row['id']}/{one}", {}, is_known=False)[0] for one in ("actions", "what-if")
        ]
        assert acted == [403, 403]


def test_the_printed_address_lets_a_browser_in_for_good(running):
    """R126: the token in the address is answered with a cookie that no script, no other site and no other inspector gets."""
    status, headers, _ = running.ask("GET", "/", is_known=False, token=running.token)
    cookie, *attributes = headers["set-cookie"].split("; ")
    assert (status, attributes) == (200, ["HttpOnly", "SameSite=Strict", "Path=/"])
    assert cookie.startswith(f"redline_token_{running.port}=")
    assert running.ask("GET", "/api/sessions", headers={"Cookie": f"other[x]=1;{cookie}; a"})[0] == 200


def test_a_program_sends_the_token_as_a_header(running):
    """R126: what `--json` says is enough for scripts."""
    assert running.ask("GET", "/api/sessions", is_known=False, headers={"X-Redline-Token": running.token})[0] == 200


def test_other_machines_are_not_let_in_by_accident():
    """Listening on an address that others reach takes a flag."""
    with pytest.raises(ValidationError, match="--allow-others"):
        InspectorSettings(host="0.0.0.0")


def test_the_command_warns_and_refuses(tmp_path):
    """What it says where others could look."""
    command = [sys.executable, "-m", "redline", "serve", str(tmp_path), "--host", "0.0.0.0", "--port", "0"]
    env = {"PATH": os.environ["PATH"], **FROM_HERE, "HOME": str(tmp_path)}
    refused = subprocess.run(command, capture_output=True, text=True, env=env, check=False, timeout=60)
    assert refused.returncode == 2
    assert "--allow-others" in refused.stderr
    process = subprocess.Popen([*command, "--allow-others"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env)
    try:
        assert "token=" in process.stdout.readline()
        assert "other machines" in process.stderr.readline()
    finally:
        process.terminate()
        process.communicate(timeout=20)
