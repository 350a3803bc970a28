import json

import pytest

from redline import open as open_conversation
from redline.prices import PRICE_RULES
from redline.sessions.replay.comparison import POLICIES
from tests.cli.sample import write_session
from tests.cli.test_inspect import redline


def test_json_has_every_policy_and_price(tmp_path):
    """Programs get the promised shape."""
    done = redline("replay", "--json", write_session(tmp_path / "s.jsonl"))
    found = json.loads(done.stdout)
    assert (done.returncode, found["requests"]) == (0, 4)
    assert list(found["prices"]) == list(PRICE_RULES)
    for price in found["prices"].values():
        assert list(price["policies"]) == list(POLICIES)


def test_other_programs_are_compared_by_name(tmp_path):
    """What they make of results before they are first sent stands beside sending everything, and beside Redline's policies."""
    done = redline("replay", "--json", "--policy", "rtk", "--policy", "careful", write_session(tmp_path / "s.jsonl"))
    found = json.loads(done.stdout)
    assert [list(price["policies"]) for price in found["prices"].values()] == [["none", "rtk", "careful"]] * len(PRICE_RULES)
    assert "rtk" not in {one["policy"] for one in found["advice"]["weighed"]}


def test_many_files_add_up_whatever_the_number_of_processes(tmp_path):
    """A folder is replayed as a whole, and more processes change nothing but the time."""
    for number in range(5):
        write_session(tmp_path / f"{number}.jsonl")
    done = [redline("replay", "--json", tmp_path, "--jobs", jobs) for jobs in (1, 3)]
    assert done[0].stdout == done[1].stdout
    assert json.loads(done[0].stdout)["sessions"] == 5


def test_first_comes_what_to_do(tmp_path):
    """One paragraph that fits the terminal: what it cost, at whose prices, what to do; the tables are left for later (R41)."""
    done = redline("replay", write_session(tmp_path / "s.jsonl", model="claude-opus-4-6"), width=80)
    assert done.returncode == 0
    said = " ".join(done.stdout.split())
    assert said.startswith("This session of claude-code (4 requests to claude-opus-4-6): the provider reported $")
    assert "; our model of the bill says $" in said
    assert "With `balanced` it would have cost $" in said
    assert "Why: `folded` changes nothing here; `careful` changes nothing here; " in said
    assert "In detail" not in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80


def test_what_is_not_recorded_is_said(tmp_path):
    """Without a model the cost is in tokens, and the assumption is named (R41)."""
    done = redline("replay", write_session(tmp_path / "s.jsonl"))
    assert done.returncode == 0
    assert "uncached tokens" in " ".join(done.stdout.split())
    assert "Assumed: no model is recorded" in done.stdout
    unknown = " ".join(redline("replay", write_session(tmp_path / "u.jsonl", model="house-model")).stdout.split())
    assert "no price is known for house-model" in unknown


def test_a_file_without_requests_is_named(tmp_path):
    """Nothing to replay is no error and no traceback (R41)."""
    (tmp_path / "s.jsonl").write_text('{"role": "user", "content": "hi"}\n')
    done = redline("replay", tmp_path / "s.jsonl")
    assert (done.returncode, done.stdout) == (0, "")
    assert "s.jsonl: no request to a model is recorded there" in done.stderr
    assert json.loads(redline("replay", "--json", tmp_path / "s.jsonl").stdout)["advice"] is None


def test_json_has_the_advice(tmp_path):
    """The same for programs, with what was assumed (R41)."""
    path = write_session(tmp_path / "s.jsonl", model="claude-opus-4-6")
    advice = json.loads(redline("replay", "--json", path).stdout)["advice"]
    assert (advice["unit"], advice["models"], advice["requests"]) == ("dollars", ["claude-opus-4-6"], 4)
    assert advice["cost"] > 0
    assert {"policy", "cost_with_policy", "saved_share", "strikes_used_later", "switch_on", "assumed"} <= advice.keys()


def write_used_later(path, *, model="claude-opus-4-6", words=60, pause_before=99, is_used=True):
    """Fifteen results, of which masking strikes five if the cache is cold after a pause of two hours; then a line of the first
    is said, which is a use by both measures."""
    line, filler = "the_answer = compute_everything(42)", "\n" + "word " * words
    messages = [{"role": "user", "content": "go"}]
    for number in range(15):
        call = {"type": "tool_use", "id": f"t{number}", "name": "Bash", "input": {"command": "make"}}
        answer = (line if number == 0 else "nothing new \x1b[2J") + filler
        messages.append({"role": "assistant", "content": [call]})
        messages.append({"role": "user", "content": [{"type": "tool_result", "tool_use_id": f"t{number}", "content": answer}]})
    messages.append({"role": "assistant", "content": [{"type": "text", "text": line if is_used else "done"}]})
    with path.open("w") as file:
        for number, message in enumerate(messages):
            names = {"uuid": str(number), "parentUuid": str(number - 1) if number else None, "sessionId": "s"}
            hour = 2 if number >= pause_before else 0
            stamp = {"timestamp": f"2026-02-04T{hour:02}:00:{number:02}Z"}
            own = {**message, "model": model} if message["role"] == "assistant" else message
            file.write(json.dumps({"type": message["role"], **names, **stamp, "message": own}) + "\n")
    return path


def write_with_subagent(path):
    """A session in which a sub-agent was asked something, too."""
    lines = [json.loads(line) for line in write_session(path).read_text().splitlines()]
    aside = [{**lines[0], "uuid": "x", "isSidechain": True}, {**lines[-1], "uuid": "y", "parentUuid": "x", "isSidechain": True}]
    path.write_text("".join(json.dumps(line) + "\n" for line in [*lines, *aside]))
    return path


def test_places_are_shown_and_told_to_programs(tmp_path):
    """What the named policy struck, who used it, by which measure and in which words; for people in eighty columns."""
    path = write_used_later(tmp_path / "s.jsonl", pause_before=30)
    arguments = ("replay", path, "--places", "--policy", "masking")
    found = json.loads(redline(*arguments, "--json").stdout)["places"]
    assert (found["policy"], found["strikes"]) == ("masking", 5)
    assert [(one["measure"], one["message"], one["kind"], one["struck_in"], one["used_in"]) for one in found["used"]] == [
        ("quoted", 2, "terminal", 16, 16),
        ("strict", 2, "terminal", 16, 16),
    ]
    assert found["used"][0].keys() == {
        "message", "at", "tool", "kind", "first_words", "struck_in", "used_in", "measure", "words",
    }  # fmt: skip
    shown = redline(*arguments, width=80)
    assert shown.returncode == 0
    assert "Request 16 used what was struck in request 16 (quoted):" in shown.stdout
    assert "  used    the_answer = compute_everything(42)" in shown.stdout
    assert max(map(len, shown.stdout.splitlines())) <= 80


def test_places_without_a_policy_are_those_of_the_advised_one(tmp_path):
    """Where none is advised there are none, and it says how to name one."""
    path = write_used_later(tmp_path / "long.jsonl", words=600, is_used=False)
    long = json.loads(redline("replay", path, "--places", "--json").stdout)
    assert long["advice"]["policy"] == long["places"]["policy"] == "bold"
    path = tmp_path / "s.jsonl"
    path.write_text("\n".join((tmp_path / "long.jsonl").read_text().splitlines()[:3]))
    found = json.loads(redline("replay", path, "--places", "--json").stdout)
    assert (found["advice"]["policy"], found["places"]) == (None, None)
    assert "name one with --policy" in redline("replay", path, "--places").stdout
    assert "places" not in json.loads(redline("replay", path, "--json").stdout)


def test_places_are_of_one_session_under_one_policy(tmp_path):
    """Anything else is one line on standard error and exit code 2."""
    paths = [write_used_later(tmp_path / f"{name}.jsonl") for name in "ab"]
    for arguments, said in (
        ((*paths, "--places"), "one session"),
        ((write_with_subagent(tmp_path / "c.jsonl"), "--places"), "one conversation, and 2 are recorded"),
        ((paths[0], "--places", "--policy", "bold", "--policy", "careful"), "one --policy"),
    ):
        done = redline("replay", *arguments)
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
        assert said in done.stderr


def test_the_presets_are_beside_the_other_policies(tmp_path):
    """Each with its bill and both risks, by strikes and by requests, at every price."""
    path = write_used_later(tmp_path / "s.jsonl", pause_before=30)
    found = json.loads(redline("replay", path, "--json").stdout)
    asked = {"ratio", "ratio_with_rereads", "risk", "risk_requests", "strict", "strict_requests", "kinds"}
    for price in found["prices"].values():
        assert all(price["policies"][preset].keys() >= asked for preset in ("careful", "balanced", "bold", "masking"))
        masked = price["policies"]["masking"]
        assert (masked["risk"], masked["risk_requests"]) == (0.2, 1 / 16)
        assert (masked["strict"], masked["strict_requests"]) == (0.2, 1 / 16)
        assert masked["kinds"]["terminal"] == {"strikes": 5, "quoted": 1, "strict": 1}
    assert [one["policy"] for one in found["advice"]["weighed"]] == ["folded", "careful", "balanced", "bold"]


def test_tables_for_people(tmp_path):
    """With --details one line for each policy, with its ratios, then curves of the session."""
    path = write_session(tmp_path / "s.jsonl")
    done = redline("replay", path, "--details", "--policy", "documents", "--prices", "0.1/1.25/5m", width=120)
    assert done.returncode == 0
    assert "documents" in done.stdout
    assert "In detail" in done.stdout
    assert "Cost so far" in done.stdout


def test_each_file_has_its_line(tmp_path):
    """Of several files, before the tables of all."""
    for number in range(3):
        write_session(tmp_path / f"{number}.jsonl")
    shown = redline("replay", "--details", tmp_path).stdout
    assert [shown.index(f"{number}.jsonl") < shown.index("In detail") for number in range(3)] == [True] * 3
    assert "(12 requests, 3 sessions)" in shown


def write_thinking(path):
    """After eleven results a thought, then a pause, in which their output goes out of date."""
    lines = [json.loads(line) for line in write_used_later(path, words=600, pause_before=25).read_text().splitlines()]
    lines[23]["message"]["content"].insert(0, {"type": "thinking", "thinking": "so", "signature": "s"})
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def test_a_model_that_binds_its_reasoning_is_struck_only_where_it_may_be(tmp_path):
    """What it would refuse has no figures: not in the advice, not in the tables, not for programs (R41)."""
    path, strikes = write_thinking(tmp_path / "s.jsonl"), {}
    for model in ("claude-opus-4-6", "claude-opus-5-5"):
        found = json.loads(redline("replay", path, "--json", "--prices", model).stdout)
        strikes[model] = found["prices"][model]["policies"]["documents"]["strikes"]
    assert strikes == {"claude-opus-4-6": 10, "claude-opus-5-5": 0}
    assert [one["policy"] for one in found["advice"]["weighed"]][4:] == ["clear_tool_uses", "clear_tool_uses_min_gain"]
    said = " ".join(redline("replay", path, "--prices", "claude-opus-5-5").stdout.split())
    assert "claude-opus-5-5 refuses a request in which anything before its reasoning was changed, so little can be" in said


def test_a_model_is_a_price(tmp_path):
    """Instead of numbers a model can be named."""
    done = redline("replay", "--json", write_session(tmp_path / "s.jsonl"), "--prices", "claude-opus-5-5:1h")
    assert list(json.loads(done.stdout)["prices"]) == ["claude-opus-5-5:1h"]


@pytest.mark.parametrize("arguments", [("--policy", "magic"), ("--prices", "no-such-model"), ("--prices", "1/2")])
def test_wrong_words_are_refused(tmp_path, arguments):
    """What is not known is one line on standard error and exit code 2."""
    done = redline("replay", write_session(tmp_path / "s.jsonl"), *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert len(done.stderr.splitlines()) == 1


def test_an_unreadable_file_does_not_stop_the_others(tmp_path):
    """It is named on standard error, the rest is replayed, and the exit code is 2."""
    (tmp_path / "bad.jsonl").write_text("no json\n")
    write_session(tmp_path / "good.jsonl")
    done = redline("replay", "--json", tmp_path)
    assert done.returncode == 2
    assert "bad.jsonl" in done.stderr
    assert json.loads(done.stdout)["sessions"] == 1


def test_logs_and_databases_are_replayed(tmp_path):
    """A Redline log, a database with and without a name, standard input: as every other command takes them (R37)."""
    database = f"sqlite:///{tmp_path}/chats.db"
    for address in (str(tmp_path / "chat.jsonl"), f"{database}#one", f"{database}#two words"):
        with open_conversation(address, model="claude-sonnet-4-5") as talk:
            talk.add({"role": "user", "content": "hi"})
            talk.request()
            talk.add({"role": "assistant", "content": "hello"})
    for arguments, sessions in (
        ([tmp_path / "chat.jsonl"], 1),
        ([f"{database}#two%20words"], 1),
        ([database], 2),
        ([tmp_path / "chats.db"], 2),
        ([tmp_path], 3),
    ):
        done = redline("replay", "--json", *arguments)
        assert (done.returncode, done.stderr) == (0, "")
        advice = json.loads(done.stdout)["advice"]
        assert (advice["sessions"], advice["models"]) == (sessions, ["claude-sonnet-4-5"])
    piped = redline("replay", "-", stdin=(tmp_path / "chat.jsonl").read_text())
    assert piped.stdout.startswith("This session of redline (1 request to claude-sonnet-4-5): no usage was reported; our")


def test_what_is_no_session_is_named_and_no_more_is_said(tmp_path):
    """One line each, by the name that was given, without a password, and the exit code 2 (R25, R40)."""
    (tmp_path / "empty").mkdir()
    address = "postgresql://me:secret@127.0.0.1:1/none#a"
    for argument in ("", "-", "/dev/null", tmp_path / "empty", tmp_path / "gone", address):
        done = redline("replay", argument)
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
        assert "secret" not in done.stderr
        assert "/tmp/redline-" not in done.stderr
