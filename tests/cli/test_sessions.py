import json
import os
import pty
import re
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

import redline as library
from redline.cli.formatting import width_of
from tests.agents.transcripts.opencode_store import make_database
from tests.cli.run import FROM_HERE, redline
from tests.cli.sample import write_session

MODEL = "claude-opus-4-6"


def write_at_home(home, name, words="fix it", *, minutes=0, project="/home/me/shop", **given):
    """A session of Claude Code, at its place, so many minutes old."""
    path = home / ".claude" / "projects" / "p" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    write_session(path, **given)
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    lines[0]["message"]["content"] = words
    said = time.time() - 60 * minutes
    for line in lines:
        line |= {"timestamp": datetime.fromtimestamp(said, UTC).isoformat(), "cwd": project}
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    os.utime(path, (said, said))
    return path


def sessions(home, *arguments, **given):
    return redline("sessions", *arguments, HOME=str(home), **given)


def listed(done):
    """The lines of the table."""
    lines = done.stdout.splitlines()
    return [line.split() for line in lines if re.fullmatch(r"[a-z][a-z2-9]{3,}", line.split(" ")[0]) and line[:4] != "name"]


def test_sessions_of_this_computer_are_listed_newest_first(tmp_path):
    """With when, whose, where, what about, and in numbers; and how to go on."""
    write_at_home(tmp_path, "old.jsonl", "an old one", minutes=500)
    write_at_home(tmp_path, "new.jsonl", "a new one", minutes=5, model=MODEL, is_open=True)
    done = sessions(tmp_path, width=80)
    assert (done.returncode, done.stderr) == (0, "")
    head, _, first, second, hint = done.stdout.splitlines()
    assert head.split() == ["name", "when", "agent", "project", "first", "words", "msgs", "tokens", "cost", "prob."]
    assert first.split()[1:7] == ["5", "min", "Claude", "shop", "a", "new"]
    assert (first.split()[-4], first.split()[-2:]) == ("8", ["<$0.01", "1"])
    assert second.split()[1:4] == ["8", "h", "Claude"]
    assert hint == f"`redline show {first.split()[0]}` shows one, `redline serve` all of them"


@pytest.mark.parametrize("width", [80, 120])
def test_wide_characters_keep_the_columns_straight(tmp_path, width):
    """Chinese, emoji and what must not reach a terminal."""
    write_at_home(
        tmp_path,
        "a.jsonl",
        "请修复登录测试，然后解释为什么它在持续集成中失败了而在本地没有问题",
        project="/home/李/商店系统",
        minutes=1,
    )
    write_at_home(tmp_path, "b.jsonl", "🚀🔥 fix the build, it is red since Tuesday", project="/p/🎉-app", minutes=2)
    write_at_home(tmp_path, "c.jsonl", "\x1b[31mred \u202e words of some length, said by nobody", project="/p/x\ny", minutes=3)
    done = sessions(tmp_path, width=width)
    head, line, *rows, _ = done.stdout.splitlines()
    at = width_of(head[: head.index("tokens")])
    assert {width_of(row) for row in rows} == {width_of(head)}
    assert max(width_of(head), width_of(line)) <= width
    for row in rows:
        assert "\x1b" not in row
        cut = next(place for place in range(len(row)) if width_of(row[:place]) == at)
        assert row[cut - 2] == " "


def test_a_session_keeps_its_short_name_from_listing_to_listing(tmp_path):
    """However a listing is sorted, filtered or cut, and whatever is new; every command takes the name (R121)."""
    paths = [
        write_at_home(tmp_path, f"{words}.jsonl", words, minutes=10 * at) for at, words in enumerate(("one", "two", "three"))
    ]
    rows = [json.loads(line) for line in sessions(tmp_path, "--json").stdout.splitlines()]
    names = {row["path"]: row["name"] for row in rows}
    assert {row[0] for row in listed(sessions(tmp_path))} == set(names.values())
    assert [row[0] for row in listed(sessions(tmp_path, "--search", "three"))] == [names[str(paths[2])]]
    write_at_home(tmp_path, "four.jsonl", "four")
    sessions(tmp_path, "--sort", "messages", "--limit", 2)
    for path in paths:
        done = redline("check", names[str(path)], HOME=str(tmp_path))
        assert (done.returncode, done.stdout) == (0, f"{path}: no problem found\n")


def test_a_number_counts_from_the_newest_whatever_was_listed(tmp_path):
    """`1` is the newest session now, without a listing and after any (R121)."""
    old, new = (write_at_home(tmp_path, name, minutes=minutes) for name, minutes in (("old.jsonl", 50), ("new.jsonl", 5)))
    for arguments in ((), ("--sort", "project"), ("--search", "old.jsonl"), ("--limit", "1")):
        assert redline("check", "1", HOME=str(tmp_path)).stdout.startswith(str(new))
        assert redline("check", "2", HOME=str(tmp_path)).stdout.startswith(str(old))
        assert sessions(tmp_path, *arguments).returncode == 0
    newest = write_at_home(tmp_path, "newest.jsonl")
    assert redline("check", "1", HOME=str(tmp_path)).stdout.startswith(str(newest))
    done = redline("check", "4", HOME=str(tmp_path))
    assert (done.returncode, "1 is the newest of 3 on this computer" in done.stderr) == (2, True)


def test_what_changes_a_session_asks_for_more_than_a_number(tmp_path):
    """A newer session may have come meanwhile; a short name or a path will do (R121)."""
    path = write_at_home(tmp_path, "a.jsonl", is_open=True)
    before = path.read_bytes()
    for command in (("repair", "1", "--in-place"), ("rm", "1", "--yes")):
        done = redline(*command, HOME=str(tmp_path))
        assert (done.returncode, "takes a path or a short name" in done.stderr) == (2, True)
    assert path.read_bytes() == before
    name = json.loads(sessions(tmp_path, "--json").stdout)["name"]
    assert redline("repair", name, "--in-place", HOME=str(tmp_path)).returncode == 0
    assert path.read_bytes() != before


def test_a_conversation_of_redlines_is_deleted_by_its_short_name(tmp_path):
    """A session of another agent is not: it is theirs (R121)."""
    theirs = write_at_home(tmp_path, "theirs.jsonl", minutes=9)
    (tmp_path / ".redline").mkdir()
    with library.open(tmp_path / ".redline" / "mine.jsonl") as talk:
        talk.add({"role": "user", "content": "hello there"})
    names = {row["path"]: row["name"] for row in map(json.loads, sessions(tmp_path, "--json").stdout.splitlines())}
    assert redline("rm", names[str(theirs)], "--yes", HOME=str(tmp_path)).returncode == 2
    assert redline("rm", names[str(tmp_path / ".redline" / "mine.jsonl")], "--yes", HOME=str(tmp_path)).returncode == 0
    assert (theirs.exists(), (tmp_path / ".redline" / "mine.jsonl").exists()) == (True, False)
    assert "hello" not in "".join(file.read_text() for file in (tmp_path / ".cache").rglob("*.json"))


def test_json_is_for_programs(tmp_path):
    """All of them, an object a line, without passwords."""
    for number in range(25):
        write_at_home(tmp_path, f"{number}.jsonl", minutes=number)
    rows = [json.loads(line) for line in sessions(tmp_path, "--json").stdout.splitlines()]
    assert [row["path"].rsplit("/")[-1] for row in rows] == [f"{number}.jsonl" for number in range(25)]
    assert (rows[0]["messages"], rows[0]["agent"], rows[0]["project"]) == (8, "Claude Code", "/home/me/shop")
    assert len(sessions(tmp_path, "--json", "--limit", 3).stdout.splitlines()) == 3


def test_the_newest_are_listed_and_the_others_counted(tmp_path):
    """Twenty, or as many as asked for."""
    for number in range(23):
        write_at_home(tmp_path, f"{number}.jsonl", minutes=number)
    done = sessions(tmp_path)
    assert (len(listed(done)), "… and 3 more: --all lists them" in done.stdout) == (20, True)
    done = sessions(tmp_path, "--limit", 2)
    assert (len(listed(done)), "… and 21 more" in done.stdout) == (2, True)
    assert len(listed(sessions(tmp_path, "--all"))) == 23


def test_only_as_many_files_are_read_as_are_listed(tmp_path):
    """Whoever has thousands does not wait for them all."""
    for number in range(70):
        write_at_home(tmp_path, f"{number}.jsonl", minutes=number)
    assert "… and 69 more" in sessions(tmp_path, "--limit", 1).stdout
    cached = json.loads((tmp_path / ".cache" / "redline" / "sessions.json").read_text())
    assert len(cached["rows"]) == 60


def test_sub_agents_and_empty_sessions_are_folded_away(tmp_path):
    """Their number is told; --all lists them."""
    write_at_home(tmp_path, "main.jsonl")
    write_at_home(tmp_path, "agent-1.jsonl")
    empty = write_at_home(tmp_path, "empty.jsonl")
    first = json.loads(empty.read_text().splitlines()[0])
    empty.write_text(json.dumps(first | {"type": "system", "message": None}) + "\n")
    done = sessions(tmp_path)
    assert (len(listed(done)), "1 of sub-agents, 1 without messages (--all" in done.stdout) == (1, True)
    done = sessions(tmp_path, "--all")
    assert (len(listed(done)), "Not listed" in done.stdout) == (3, False)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (("--agent", "claude"), ["a", "b", "c"]),
        (("--agent", "Claude-Code"), ["a", "b", "c"]),
        (("--agent", "codex"), []),
        (("--project", "SHOP"), ["a", "c"]),
        (("--search", "Login FIX"), ["a"]),
        (("--search", "b.jsonl"), ["b"]),
        (("--search", "login unheard-of"), []),
        (("--sort", "messages"), ["c", "a", "b"]),
        (("--sort", "project"), ["b", "a", "c"]),
        (("--sort", "problems"), ["b", "a", "c"]),
        (("--sort", "cost"), ["b", "a", "c"]),
    ],
)
def test_sessions_are_chosen_and_sorted(tmp_path, options, expected):
    """By agent, project and words; the largest first, what is equal by name."""
    write_at_home(tmp_path, "a.jsonl", "fix the login test", minutes=1)
    write_at_home(tmp_path, "b.jsonl", "the login", project="/home/me/other", minutes=2, is_open=True, model=MODEL)
    path = write_at_home(tmp_path, "c.jsonl", "deploy", minutes=3)
    one_more = {"type": "user", "uuid": "zz", "parentUuid": "z", "sessionId": "s1", "message": {"role": "user", "content": "x"}}
    path.write_text(path.read_text() + json.dumps(one_more) + "\n")
    rows = [json.loads(line) for line in sessions(tmp_path, *options, "--json").stdout.splitlines()]
    assert [row["path"].rsplit("/")[-1].removesuffix(".jsonl") for row in rows] == expected


def test_the_project_may_be_the_folder_one_is_in(tmp_path):
    """`--project .`"""
    write_at_home(tmp_path, "a.jsonl", project=str(Path.cwd()))
    write_at_home(tmp_path, "b.jsonl", project="/home/me/other")
    (row,) = sessions(tmp_path, "--project", ".", "--json").stdout.splitlines()
    assert json.loads(row)["path"].endswith("a.jsonl")


def test_where_nothing_is_it_says_where_it_looked(tmp_path):
    """Every agent and its folder; and other words where there are sessions, but none that is asked for."""
    done = sessions(tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    said = "".join(done.stdout.split())  # long paths are folded
    assert f"ClaudeCode{tmp_path}/.claude/projects" in said
    assert f"Redline{tmp_path}/.redline" in said
    write_at_home(tmp_path, "a.jsonl")
    assert sessions(tmp_path, "--search", "unheard-of").stdout == "None of 1 session file is what was asked for.\n"
    assert "No agent of that name" in sessions(tmp_path, "--agent", "nobody").stdout


def test_places_may_be_named(tmp_path):
    """Files, folders and databases, instead of the places of agents; those that cannot be read are named."""
    write_at_home(tmp_path, "home.jsonl")
    write_session(tmp_path / "s.jsonl")
    (tmp_path / "package.json").write_text("{}")
    talk = library.open(f"sqlite:///{tmp_path}/chats.db#one")
    talk.add({"role": "user", "content": "hello there"})
    talk.close()
    done = sessions(tmp_path, tmp_path / "s.jsonl", f"sqlite:///{tmp_path}/chats.db", tmp_path / "gone.jsonl", width=120)
    assert (len(listed(done)), "hello there" in done.stdout, "home.jsonl" in done.stdout) == (2, True, False)
    assert (done.returncode, "gone.jsonl cannot be opened" in done.stderr) == (2, True)
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "package.json").write_text("{}")
    (folder / "broken.jsonl").write_text("hello")
    (folder / "nothing.jsonl").touch()
    write_session(folder / "s.jsonl")
    done = sessions(tmp_path, folder)
    assert (done.returncode, len(listed(done)), "broken.jsonl" in done.stderr) == (0, 1, True)
    assert len(done.stderr.splitlines()) == 1
    assert sessions(tmp_path, folder / "package.json").returncode == 2


def test_a_password_is_neither_shown_nor_kept(tmp_path):
    """Of a server that does not answer, and in no file of the cache."""
    done = sessions(tmp_path, "postgresql://me:s3cret@127.0.0.1:1/db#chat", "--json")
    assert (done.returncode, "127.0.0.1" in done.stderr) == (2, True)
    kept = "".join(file.read_text() for file in tmp_path.rglob("*.json"))
    assert "s3cret" not in done.stdout + done.stderr + kept


def test_without_a_cache_the_names_are_worked_out_anew(tmp_path):
    """Nothing is written, and every session has the name that it would have."""
    path = write_at_home(tmp_path, "a.jsonl")
    ((name, *_),) = listed(sessions(tmp_path, REDLINE_CACHE="off"))
    assert redline("check", name, HOME=str(tmp_path), REDLINE_CACHE="off").stdout.startswith(str(path))
    assert not (tmp_path / ".cache").exists()
    assert listed(sessions(tmp_path))[0][0] == name


@pytest.mark.parametrize(
    ("minutes", "words"), [(0, "now"), (59, "59 min"), (61, "1 h"), (60 * 47, "1 d"), (60 * 24 * 400, "20")]
)
def test_when_it_was_is_told_as_people_say_it(tmp_path, minutes, words):
    """How long ago, for a week; then the date."""
    write_at_home(tmp_path, "a.jsonl", minutes=minutes)
    (row,) = listed(sessions(tmp_path))
    assert " ".join(row[1:]).startswith(words)


def test_progress_is_drawn_while_files_are_read(tmp_path):
    """On a terminal, on standard error; the second time there is nothing to wait for."""
    for number in range(5):
        write_at_home(tmp_path, f"{number}.jsonl", minutes=number)
    told = []
    for _ in range(2):
        parent, child = pty.openpty()
        env = {"PATH": "", **FROM_HERE, "HOME": str(tmp_path), "TERM": "xterm", "PYTHONIOENCODING": "utf-8"}
        done = subprocess.run(
            [sys.executable, "-m", "redline", "sessions"], stdout=subprocess.PIPE, stderr=child, env=env, check=True, timeout=60
        )
        os.close(child)
        try:
            told.append(os.read(parent, 65536))
        except OSError:  # nothing was written there
            told.append(b"")
        os.close(parent)
        assert b"`redline show " in done.stdout
    assert (b"reading" in told[0], told[1]) == (True, b"")


@pytest.fixture
def opencode(tmp_path):
    """The database of opencode at its place, with three sessions, one of which has a sub-agent."""
    folder = tmp_path / ".local" / "share" / "opencode"
    folder.mkdir(parents=True)
    return make_database(folder)


def test_each_session_of_opencodes_database_is_a_row(tmp_path, opencode):
    """By FILE#ID, with its own numbers; sub-agents stay with the session that started them (R119)."""
    rows = [json.loads(line) for line in sessions(tmp_path, "--json").stdout.splitlines()]
    assert [(row["first_words"], row["messages"]) for row in rows] == [
        ("First prompt", 14),
        ('"AGENT please"', 8),
        ('"CRASH now"', 5),
    ]
    assert {row["path"].partition("#")[0] for row in rows} == {str(opencode)}
    assert len(json.loads((tmp_path / ".cache" / "redline" / "sessions.json").read_text())["rows"]) == 3


@pytest.mark.parametrize(
    "command", [("show",), ("explain",), ("check",), ("export",), ("inspect",), ("replay", "--places", "--policy", "bold")]
)
def test_every_command_takes_one_session_of_a_database(tmp_path, opencode, command):
    """`--places` too, which is for one conversation (R119)."""
    place = json.loads(sessions(tmp_path, "--json").stdout.splitlines()[0])["path"]
    name, *options = command
    done = redline(name, place, *(["0"] if name == "explain" else []), *options, HOME=str(tmp_path))
    assert (done.returncode, done.stderr) == (0, "")
    told = redline(name, f"{opencode}#ses_nobody", *(["0"] if name == "explain" else []), *options, HOME=str(tmp_path))
    assert (told.returncode, "has no session 'ses_nobody'" in told.stderr) == (2, True)
