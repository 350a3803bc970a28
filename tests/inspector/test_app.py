"""What the page is told: the list, messages, requests, strikes, the timeline, what if; of transcripts and of logs."""

import base64
import json
import time
from urllib.parse import parse_qsl

import pytest

import redline
from redline.providers import FORMATS
from redline.testing import conversation, says
from tests.agents.transcripts.opencode_store import make_database
from tests.cli.run import redline as redline_command
from tests.corpus import corpus_path, corpus_rows, needs_corpus
from tests.inspector.claude_code import write_compacted
from tests.inspector.support import NOW, inspector, write_log, write_transcript

PIXEL = base64.b64encode(b"\x89PNG\r\n\x1a\n" + b"\0" * 30).decode()


def when_ready(running, address, **query):
    """The header of a session, once its numbers are known."""
    for _ in range(100):
        found = running.get(address, **query)
        if not found["is_pending"]:
            return found
        time.sleep(0.1)
    raise AssertionError("the numbers never came")


def test_the_list(running):
    """Both sessions, the newest first, with their numbers as soon as they are worked out."""
    for _ in range(100):
        found = running.get("/api/sessions")
        if found["is_complete"]:
            break
        time.sleep(0.1)
    rows = {row["name"]: row for row in found["sessions"]}
    assert rows.keys() == {"talk", "chat"}
    talk, chat = rows["talk"], rows["chat"]
    assert (talk["agent"], talk["project"], talk["title"]) == ("Claude Code", "/srv/app", "Fix the parser of dates")
    assert (talk["messages"], talk["requests"], talk["is_log"], chat["is_log"]) == (62, 31, False, True)
    assert talk["cost_usd"] > 0
    assert talk["tokens"] > 1000
    assert not talk["is_pending"]


def searched(running, text, count):
    """What a search answers once so many sessions are found."""
    for _ in range(100):
        answer = running.get("/api/search", text=text)
        if len(answer["found"]) == count and answer["is_complete"]:
            return answer
        time.sleep(0.1)
    raise AssertionError(answer)


def test_what_was_said_is_found(tmp_path):
    """In every session that is served, once it was read in the background; without secrets in what is shown (R120)."""
    (tmp_path / "sessions").mkdir()
    write_transcript(tmp_path / "sessions" / "talk.jsonl")
    key = "sk-ant-api03-" + "Ab3" * 31 + "AA"
    lines = [{"role": "user", "content": f"The zebra has the key {key} in its mouth"}]
    (tmp_path / "sessions" / "said.json").write_text(json.dumps(lines))
    make_database(tmp_path / "sessions")
    with inspector(tmp_path / "sessions", home=tmp_path) as served:
        rows = {row["id"]: row for row in served.rows()}
        ((found, told),) = searched(served, "ZEBRA has", 1)["found"].items()
        assert (rows[found]["name"], told["matches"], key in told["excerpt"]) == ("said", 1, False)
        assert told["excerpt"].startswith("The zebra has the key [")
        ((found, _),) = searched(served, "crash I go on", 1)["found"].items()
        assert "opencode.db#ses_" in rows[found]["path"]
        assert searched(served, "nobody said this", 0)["missing"] == 0
        short = next(row["short_name"] for row in served.rows() if row["id"] == found)
        assert redline_command("check", short, HOME=tmp_path).stdout.startswith(str(tmp_path / "sessions" / "opencode.db#"))


def test_each_session_of_a_database_is_listed_and_opened(tmp_path):
    """By itself, with its own messages (R119)."""
    make_database(tmp_path)
    with inspector(tmp_path / "opencode.db", home=tmp_path) as served:
        rows = served.rows()
        assert len(rows) == 3
        counts = [when_ready(served, f"/api/sessions/{row['id']}")["messages"] for row in rows]
        assert sorted(counts) == [4, 5, 12]


def test_a_transcript_is_shown_with_what_redline_would_strike(running):
    """By default; as it was sent, nothing is struck."""
    address = running.session("talk")
    header = when_ready(running, address)
    assert (header["policy"], header["is_hypothetical"], header["can_act"]) == ("careful", True, False)
    assert (header["messages"], header["requests"], header["model"]) == (62, 31, "claude-sonnet-4-5")
    assert running.get(f"{address}/strikes", policy="sent")["strikes"] == []
    strikes = running.get(f"{address}/strikes", policy="masking")["strikes"]
    assert strikes
    assert {one["rule"] for one in strikes} == {"masked_results"}
    assert all(one["chance"] is None for one in strikes), "the rule estimates none"
    careful = [one for one in running.get(f"{address}/strikes", policy="bold")["strikes"] if one["rule"] == "faded"]
    assert careful
    assert all(0 <= one["chance"] <= 1 for one in careful)
    assert not any(one["is_undoable"] for one in strikes)
    sent = when_ready(running, address, policy="sent")
    struck = when_ready(running, address, policy="masking")
    assert sent["tokens"]["struck"] == 0
    assert struck["tokens"]["struck"] > 0
    assert struck["tokens"]["sent"] + struck["tokens"]["struck"] == pytest.approx(sent["tokens"]["sent"], rel=0.01)
    assert struck["cost_usd_without"] == pytest.approx(sent["cost_usd_without"])


def test_messages_hold_what_people_read(running):
    """Words, calls in a line, what an edit changed, results beside their calls."""
    address = running.session("talk")
    messages = running.get(f"{address}/messages", **{"from": 0, "count": 200}, policy="masking")["messages"]
    assert [one["index"] for one in messages] == list(range(62))
    first, call, result = messages[:3]
    assert first["parts"][0]["text"] == "Fix the parser of dates"
    assert call["parts"][1]["says"] == "runs pytest -k part0"
    assert call["parts"][1]["pair"] == {"index": 2, "at": result["parts"][0]["at"]}
    assert result["parts"][0]["pair"] == {"index": 1, "at": call["parts"][1]["at"]}
    assert result["parts"][0]["tool"] == "Bash"
    assert call["usage"]["cache_write"] == 900
    edit = messages[5]["parts"][1]
    assert edit["diff"] == [["-", "value = 1"], ["+", "value = 2"], [" ", "keep"]]
    assert [one["index"] for one in messages if one["is_error"]] == [14]
    assert result["parts"][0]["strikes"]
    some = running.get(f"{address}/messages", indices="3,7-9,999")["messages"]
    assert [one["index"] for one in some] == [3, 7, 8, 9]


def test_a_part_is_told_whole(running):
    """What was there, and what is sent in its place."""
    address = running.session("talk")
    strike = running.get(f"{address}/strikes", policy="masking")["strikes"][0]
    part = running.get(f"{address}/part", index=strike["index"], at=strike["at"], policy="masking")
    assert part["text"].startswith("collected 0 items")
    assert part["sent"] == strike["replacement"]
    assert json.loads(part["native"])["type"] == "tool_result"
    kept = running.get(f"{address}/part", index=0, at="content", policy="masking")
    assert "sent" not in kept


def test_search_and_filters(running):
    """Text in any case, kinds, tools, errors, strikes; together they must all hold."""
    address = running.session("talk")

    def found(**wanted):
        return running.get(f"{address}/find", policy="masking", **wanted)

    assert found(text="FIX THE PARSER")["runs"] == [[0, 1]]
    assert found(text="collected 3 items")["first"][0]["match"] == "collected 3 items"
    assert found(tool="Read", kind="result")["count"] == 10
    assert found(error=1)["runs"] == [[14, 15]]
    assert 0 < found(struck=1)["count"] < 30
    assert found(struck=1, tool="Nothing")["count"] == 0
    assert found(kind="user", text="fix")["count"] == 1


def test_a_request_is_what_the_model_saw(running):
    """The messages until then, the strikes in force then, sizes that add up."""
    address = running.session("talk")
    strikes = {one["number"]: one for one in running.get(f"{address}/strikes", policy="masking")["strikes"]}
    for number in (0, 10, 20, 30):
        request = running.get(f"{address}/requests/{number}", policy="masking")
        assert request["visible"] == [[0, 1 + 2 * number]]
        in_force = [one for one in strikes.values() if one["first"] <= number and (one["end"] is None or number < one["end"])]
        assert sorted(request["strikes"]) == sorted(one["number"] for one in in_force)
        assert sum(request["by_kind"].values()) == pytest.approx(request["sent_tokens"], abs=10)
    status, _, problem = running.ask("GET", f"{address}/requests/31")
    assert (status, problem["error"]) == (400, "There is no request 31; there are 31, numbered from 0.")


def test_the_timeline(running):
    """A point a request, by kind; two bills of which the struck one ends lower."""
    address = running.session("talk")
    drawn = running.get(f"{address}/timeline", policy="masking")
    assert len(drawn["points"]) == drawn["requests"] == 31
    assert {"user", "assistant", "Bash", "Read", "Edit"} <= set(drawn["kinds"])
    assert drawn["unit"] == "usd"
    for number, point in enumerate(drawn["points"]):
        request = running.get(f"{address}/requests/{number}", policy="masking")
        assert sum(point["sizes"]) == pytest.approx(request["sent_tokens"], abs=10)
    everything, struck = (one["values"][-1] for one in drawn["costs"])
    assert struck < everything
    assert drawn["points"][0]["is_cold"]
    few = running.get(f"{address}/timeline", points=10)
    assert len(few["points"]) <= 12
    assert (few["points"][0]["request"], few["points"][-1]["request"]) == (0, 30)


@pytest.mark.parametrize("points", [1000, 60])
def test_the_timeline_of_a_long_session_has_every_mark(points, serve, tmp_path):
    """R122: each compaction, with the request before it, and each change of the model is among the points, however few."""
    served = serve(write_compacted(tmp_path / "long.jsonl", requests=3300, compactions=10, model_changes=(450, 2071)))
    drawn = served.get(f"{served.session()}/timeline", points=points, policy="sent")
    assert drawn["requests"] == 3300
    told = {point["request"]: point for point in drawn["points"]}
    assert [number for number, point in told.items() if point["compaction"]] == list(range(300, 3001, 300))
    assert {*range(299, 3000, 300), 450, 2071} <= told.keys()
    assert all(told[number]["is_cold"] for number in (450, 2071))
    assert {0, 3299} <= told.keys()
    assert len(told) <= points


def test_marks_come_before_other_points(serve, tmp_path):
    """R122: with more marks than points there are as many compactions as fit, and never more points than asked for."""
    served = serve(write_compacted(tmp_path / "long.jsonl", requests=1212, compactions=100))
    few = served.get(f"{served.session()}/timeline", points=40, policy="sent")["points"]
    assert len(few) <= 40
    assert sum(point["compaction"] for point in few) == 38
    assert (few[0]["request"], few[-1]["request"]) == (0, 1211)


def test_what_if(running):
    """Numbers change with the settings, and the settings come back as a file that makes the same policy."""
    address = running.session("talk")
    none = running.post(f"{address}/what-if", {"rules": []})[1]
    bold = running.post(f"{address}/what-if", {"rules": [{"name": "masked_results", "settings": {"keep_recent": 1}}]})[1]
    mild = running.post(f"{address}/what-if", {"rules": [{"name": "masked_results", "settings": {"keep_recent": 10}}]})[1]
    assert none["strikes"] == 0
    assert none["cost"] == none["cost_without"] == bold["cost_without"]
    assert bold["strikes"] > mild["strikes"] > 0
    assert bold["tokens"] < mild["tokens"] < none["tokens"]
    assert bold["quoted"]["strikes"] + bold["strict"]["strikes"] >= mild["quoted"]["strikes"] + mild["strict"]["strikes"]
    assert "keep_recent = 1" in bold["toml"]
    assert len(bold["curve"]["points"]) == 31


@pytest.mark.parametrize(
    "custom",
    [
        {"preset": "default"},
        {"preset": "careful"},
        {"preset": "balanced"},
        {"rules": []},
        {"rules": [{"name": "masked_results", "settings": {"keep_recent": 1}}], "schedule": {"name": "eager"}},
        {"rules": [{"name": "faded"}], "schedule": {"name": "budget", "settings": {"trigger_tokens": 9000, "keep": 1}}},
    ],
)
def test_both_ways_to_copy_a_policy_make_the_same_one(running, tmp_path, monkeypatch, custom):
    """The Python program runs as it is, and its policy is that of the file."""
    monkeypatch.chdir(tmp_path)
    answer = running.post(f"{running.session('talk')}/what-if", custom)[1]
    (tmp_path / "redline.toml").write_text(answer["toml"])
    made = {}
    exec(answer["python"], made)
    copied, loaded = made["policy"], redline.Policy.load("redline.toml")
    assert copied.made_rules() == loaded.made_rules()
    assert copied.schedule == loaded.schedule
    assert copied.words == loaded.words


def test_the_policy_that_is_copied_is_the_one_that_was_tried(running, tmp_path):
    """`redline.toml` from the page loads, and strikes the same."""
    custom = {
        "rules": [{"name": "stale_terminal", "settings": {"max_age_ms": 10, "keep_recent": 2}}],
        "schedule": {"name": "eager"},
    }
    answer = running.post(f"{running.session('talk')}/what-if", custom)[1]
    (tmp_path / "redline.toml").write_text(answer["toml"])
    policy = redline.Policy.load(tmp_path / "redline.toml")
    assert policy.made_rules()[0].keep_recent == 2
    assert policy.schedule == "eager" or policy.schedule.name == "eager"
    shown = running.get(f"{running.session('talk')}/strikes", policy=json.dumps(custom))
    assert len(shown["strikes"]) == answer["strikes"] > 0


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ([], "object"),
        ({"rules": "all"}, "list"),
        ({"rules": [{"name": "nothing"}]}, "nothing"),
        ({"rules": [{"name": "masked_results", "settings": {"keep_recent": "ten"}}]}, "keep_recent"),
        ({"rules": [{"name": "masked_results", "settings": {"no_such": 1}}]}, "no_such"),
        ({"rules": [], "schedule": {"name": "sometimes"}}, "sometimes"),
        ({"rules": [], "price": "free"}, "price"),
    ],
)
def test_settings_that_make_no_policy(running, body, says):
    """Each is refused with a sentence that names it."""
    status, problem = running.post(f"{running.session('talk')}/what-if", body)
    assert status == 400
    assert says in problem["error"]


@pytest.mark.parametrize(
    "query", [{"from": "x"}, {"from": "-1"}, {"indices": "a-b"}, {"conversation": "7"}, {"policy": "best"}]
)
def test_questions_that_make_no_sense(running, query):
    """A sentence, never a stack trace."""
    status, _, problem = running.ask("GET", f"{running.session('talk')}/messages", **query)
    assert status == 400
    assert problem["error"].endswith((".", "12", "'"))


def test_policies_are_described(running):
    """Every rule and schedule with its settings, in words."""
    found = running.get("/api/policies")
    assert {one["name"] for one in found["rules"]} == set(redline.RULES)
    assert all(setting["says"] for one in found["rules"] for setting in one["settings"])
    assert {one["name"] for one in found["schedules"]} == {"eager", "when_free", "budget"}
    assert "careful" in {one["name"] for one in found["presets"]}


# --- logs


@pytest.fixture(scope="module")
def logs(tmp_path_factory):
    """An inspector over a log of every format, in files and in a database."""
    place = tmp_path_factory.mktemp("logs")
    database = f"sqlite:///{place}/chats.db"
    for format in FORMATS:
        write_log(place / f"{format}.jsonl", format=format)
        write_log(f"{database}#{format}", format=format)
    with inspector(place, home=tmp_path_factory.mktemp("home")) as served:
        yield {"file": "{}", "sqlite": f"{database}#{{}}"}, served


@pytest.mark.parametrize("format", sorted(FORMATS))
@pytest.mark.parametrize("kind", ["file", "sqlite"])
def test_logs_are_shown_as_they_were_sent(logs, format, kind):
    """Requests with their time, usage and strikes; the strikes say why, since when, and what they save."""
    names, served = logs
    session = served.session(names[kind].format(format))
    header = when_ready(served, session)
    assert (header["policy"], header["is_hypothetical"], header["can_act"]) == ("sent", False, True)
    requests = [served.get(f"{session}/requests/{number}") for number in range(header["requests"])]
    decided = [one for one in requests if one["time_ms"] in [NOW + n * 1_000_000 for n in range(6)]]
    assert [one["usage"]["input"] for one in decided if one["usage"]] == [2000 * (n + 1) for n in range(6)]
    strikes = served.get(f"{session}/strikes")["strikes"]
    assert len(strikes) == 4
    assert all(one["is_undoable"] and one["why_now"] and one["because"] for one in strikes)
    assert len(requests[-1]["strikes"]) == 4
    assert len(requests[0]["strikes"]) == 0


def test_branches_and_batches(tmp_path):
    """What was rewound stays as a branch, which can be looked at; batches can be rolled back to."""
    path = write_log(tmp_path / "chat.jsonl")
    with redline.open(path) as talk:
        talk.rewind(3)
        talk.add(conversation("anthropic", [says("user", "another way")])[0])
        talk.start_batch(2)
    with inspector(path, home=tmp_path) as served:
        session = served.session()
        history = served.get(f"{session}/records")
        assert len(history["branches"]) == 2
        assert [one["number"] for one in history["batches"]] == [0, 1]
        (other,) = [one for one in history["branches"] if not one["is_current"]]
        assert any(not line["is_current"] for line in history["records"])
        assert served.get(session)["messages"] == 5
        assert served.get(session, branch=other["number"])["messages"] == 19
        last = served.get(session)["requests"]
        compared = served.get(f"{session}/compare", a=0, b=last - 1)
        assert compared["same_prefix_tokens"] > 0


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"action": "undo", "strike": 99}, 409),
        ({"action": "undo", "strike": "1"}, 400),
        ({"action": "undo", "strike": True}, 400),
        ({"action": "delete", "strike": 1}, 400),
        ({"action": "pin", "index": -1}, 409),
        ({"action": "rewind", "index": 10_000}, 409),
        ({"action": "rollback", "batch": 7}, 409),
        ({"action": "switch", "branch": 0}, 409),
        ([], 400),
    ],
)
def test_what_cannot_be_done_says_why(running, folder, body, status):
    """And nothing is written."""
    before = (folder / "chat.jsonl").read_bytes()
    found, problem = running.post(f"{running.session('chat')}/actions", body)
    assert found == status
    assert problem["error"]
    assert (folder / "chat.jsonl").read_bytes() == before


@pytest.mark.parametrize("kind", ["file", "sqlite"])
def test_actions_append_and_take_effect(tmp_path, kind):
    """Undo, pin, rewind, switch and rollback: each is one more record, and the conversation knows it."""
    address = tmp_path / "chat.jsonl" if kind == "file" else f"sqlite:///{tmp_path}/chats.db#chat"
    write_log(address)
    with redline.open(address) as talk:
        talk.start_batch(6)
    with inspector(address, home=tmp_path) as served:
        session = served.session()
        assert served.post(f"{session}/actions", {"action": "undo", "strike": 0})[0] == 200
        assert served.post(f"{session}/actions", {"action": "pin", "index": 5})[0] == 200
        assert served.get(f"{session}/messages", indices="5")["messages"][0]["is_pinned"]
        ended = {one["number"]: one["ended_because"] for one in served.get(f"{session}/strikes")["strikes"]}
        assert ended[0] == "it was undone"
        assert ended[1] == "its message was pinned"
        assert served.post(f"{session}/actions", {"action": "rollback", "batch": 0})[0] == 200
        assert served.post(f"{session}/actions", {"action": "rewind", "index": 2})[0] == 200
        assert served.get(session)["messages"] == 3
        (other,) = [one for one in served.get(f"{session}/records")["branches"] if not one["is_current"]]
        assert served.post(f"{session}/actions", {"action": "switch", "branch": other["number"]})[0] == 200
        assert served.get(session)["messages"] == 19
    with redline.open(address) as talk:
        assert [strike.number for strike in talk.strikes] == [2, 3]


def test_read_only(tmp_path):
    """With --read-only, and on the sessions of agents, nothing can be done."""
    write_log(tmp_path / "chat.jsonl")
    write_transcript(tmp_path / "talk.jsonl", 2)
    with inspector(tmp_path, home=tmp_path, options=("--read-only",)) as served:
        assert not served.get(served.session("chat"))["can_act"]
        assert served.post(f"{served.session('chat')}/actions", {"action": "pin", "index": 0})[0] == 409
    with inspector(tmp_path, home=tmp_path) as served:
        status, problem = served.post(f"{served.session('talk')}/actions", {"action": "pin", "index": 0})
        assert status == 409
        assert "another agent" in problem["error"]


# --- odd content


def test_pictures_are_served_and_nothing_else_is(tmp_path):
    """A picture by its place, bound so that it is nothing but a picture; SVG and HTML stay text."""
    content = [
        {"type": "image", "source": {"type": "base64", "media_type": kind, "data": PIXEL}}
        for kind in ("image/png", "image/svg+xml", "text/html")
    ]
    (tmp_path / "list.json").write_text(
        json.dumps([{"role": "user", "content": content}, {"role": "assistant", "content": "ok"}])
    )
    with inspector(tmp_path / "list.json", home=tmp_path) as served:
        session = served.session()
        parts = served.get(f"{session}/messages")["messages"][0]["parts"]
        assert [bool(part["image"]) for part in parts] == [True, False, False]
        path, _, query = parts[0]["image"]["url"].partition("?")
        status, headers, body = served.ask("GET", path, **dict(parse_qsl(query)))
        assert (status, headers["content-type"], body[:4]) == (200, "image/png", b"\x89PNG")
        assert "sandbox" in headers["content-security-policy"]
        assert [served.ask("GET", f"{session}/image", index=0, at=f"content.{n}")[0] for n in (1, 2)] == [404, 404]


def test_text_that_no_encoding_holds(tmp_path):
    """Half an emoji, null bytes, escapes: told as JSON, as they are."""
    odd = "half \ud83d null \0 escape \x1b[31m right \u202e left"
    (tmp_path / "list.json").write_text(json.dumps([{"role": "user", "content": odd}, {"role": "assistant", "content": "ok"}]))
    with inspector(tmp_path / "list.json", home=tmp_path) as served:
        session = served.session()
        assert served.get(f"{session}/messages")["messages"][0]["parts"][0]["text"] == odd
        assert served.get(f"{session}/find", text="null \0")["count"] == 1


def test_growth_is_told_at_once(tmp_path):
    """Server-sent events: a session that grows, and a new one in the folder."""
    import http.client

    path = write_transcript(tmp_path / "talk.jsonl", 2)
    with inspector(tmp_path, home=tmp_path) as served:
        session = served.session()
        assert served.get(session)["messages"] == 6
        listening = http.client.HTTPConnection("127.0.0.1", served.port, timeout=15)
        listening.request("GET", f"/api/events?token={served.token}")
        events = listening.getresponse()
        assert events.headers["content-type"].startswith("text/event-stream")
        time.sleep(1.2)
        lines = write_transcript(tmp_path / "longer.jsonl", 4).read_text()
        path.write_text(lines)
        names = set()
        while names != {"session", "sessions"}:
            line = events.fp.readline().decode()
            if line.startswith("event:"):
                names.add(line.split()[1])
        assert served.get(session)["messages"] == 10
        listening.close()


@needs_corpus
@pytest.mark.corpus
def test_every_recorded_session_can_be_looked_at(tmp_path):
    """The real sessions of every agent: each route answers, and sizes stay near what was reported."""
    rows = corpus_rows()[::9]
    with inspector(*[corpus_path(row) for row in rows], home=tmp_path) as served:
        listed = served.rows()
        assert len(listed) == len(rows)
        for row in listed:
            address = f"/api/sessions/{row['id']}"
            header = when_ready(served, address)
            for route in ("messages", "strikes", "timeline", "records", "find?text=error"):
                name, _, query = route.partition("?")
                served.get(f"{address}/{name}", **dict([query.split("=")]) if query else {})
            if header["requests"]:
                request = served.get(f"{address}/requests/{header['requests'] - 1}", policy="sent")
                if request["usage"] and request["usage"]["input"] > 5000:
                    assert request["sent_tokens"] == pytest.approx(request["usage"]["input"], rel=0.35)


@pytest.mark.parametrize(
    ("path", "query"),
    [
        ("/requests/" + "9" * 30, {}),
        ("/requests/" + "9" * 5000, {}),
        ("/records", {"conversation": "7"}),
        ("/messages", {"policy": "a" * 5000}),
        ("/messages", {"policy": "/dev/zero"}),
    ],
)
def test_what_is_not_there_is_no_error_of_ours(running, path, query):
    """R138: a number that no request has, a conversation that is not there, a policy that no file can be."""
    for row in running.rows():
        status, _, found = running.ask("GET", f"/api/sessions/{row['id']}{path}", **query)
        assert status < 500, found
