"""`redline hook`: settings files of every shape, what it answers to events, and what it costs."""

import json
import os
import subprocess
import sys

import pytest

from redline.folds import fold_text, unfold_text
from tests.cli.run import FROM_HERE, redline

MATCHES = "".join(f"src/part_{number}.c:{line}:int total_of_part_{number};\n" for number in range(8) for line in range(4))
PASSED = "".join(f"test_a.py::test_part_{number} PASSED\n" for number in range(90)) + "===== 90 passed in 0.1s =====\n"
BASH = {"stdout": "", "stderr": "", "interrupted": False, "isImage": False, "noOutputExpected": False}

OPEN_QUOTE = json.dumps(
    {"hooks": {"PostToolUse": [{"hooks": [{"command": "'python -P -m redline hook run 2>/dev/null || true"}]}]}}
)
"""Redline's hook, with a slip that was made by hand."""


def settings(home):
    return home / ".claude" / "settings.json"


def hook(home, *words, **env):
    return redline("hook", *words, HOME=home, **env)


def install(home, *words):
    return hook(home, "install", "claude-code", "--yes", *words)


def uninstall(home, *words):
    return hook(home, "uninstall", "claude-code", "--yes", *words)


def event(output, tool="Bash", **given):
    return json.dumps({"hook_event_name": "PostToolUse", "tool_name": tool, "tool_input": given, "tool_response": output})


def answered(home, said, *words):
    """What the hook prints, as JSON; None for nothing."""
    done = redline("hook", "run", *words, HOME=home, stdin=said)
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads(done.stdout)["hookSpecificOutput"]["updatedToolOutput"] if done.stdout else None


# --- settings files


@pytest.mark.parametrize(
    "before",
    [
        None,
        "",
        "{}",
        "{ }\n",
        '{"model": "opus"}',
        '{\n\t"model": "opus",\n\t"hooks": {}\n}\n',
        '{"hooks": {"PostToolUse": []}, "permissions": {"allow": ["Read(x)"]}}',
        '{"hooks": {"PostToolUse": [{"matcher": "Edit", "hooks": []}],\r\n "Stop": []}}\r\n',
        '{"a": "\\u00e9 ]} \\" {", "hooks": {"Stop": [1, 2 , 3]}, "permissions": {}}',
    ],
)
def test_what_was_there_stays_and_comes_back_byte_for_byte(tmp_path, before):
    """Install adds the hook beside what there is; twice is as once; uninstall leaves the very bytes."""
    path = settings(tmp_path)
    if before is not None:
        path.parent.mkdir()
        path.write_bytes(before.encode())
    assert install(tmp_path).returncode == 0
    once = path.read_bytes()
    table = json.loads(once)
    was = json.loads(before or "{}")
    ours = table["hooks"]["PostToolUse"].pop()
    assert "redline hook run" in ours["hooks"][0]["command"]
    assert table["permissions"]["allow"].pop() == f"Read(/{tmp_path}/.redline/hooks/**)"
    assert table["hooks"]["PostToolUse"] == was.get("hooks", {}).get("PostToolUse", [])
    assert {name: table[name] for name in was if name not in ("hooks", "permissions")} == {
        name: value for name, value in was.items() if name not in ("hooks", "permissions")
    }
    again = install(tmp_path)
    assert (again.returncode, path.read_bytes()) == (0, once)
    assert "in place already" in again.stdout
    assert uninstall(tmp_path).returncode == 0
    assert (path.read_bytes().decode() if path.exists() else None) == before


def test_what_was_added_later_stays(tmp_path):
    """A hook of the user's after Redline's is kept when Redline's goes."""
    install(tmp_path)
    table = json.loads(settings(tmp_path).read_text())
    table["hooks"]["PostToolUse"].append({"matcher": "Edit", "hooks": []})
    settings(tmp_path).write_text(json.dumps(table))
    uninstall(tmp_path)
    assert json.loads(settings(tmp_path).read_text())["hooks"]["PostToolUse"] == [{"matcher": "Edit", "hooks": []}]


def test_another_store_replaces_the_hook(tmp_path):
    """There is one hook of Redline, and one permission with it."""
    install(tmp_path)
    install(tmp_path, "--store", str(tmp_path / "my store"))
    table = json.loads(settings(tmp_path).read_text())
    (ours,) = table["hooks"]["PostToolUse"]
    assert f"--store '{tmp_path}/my store'" in ours["hooks"][0]["command"]
    assert table["permissions"]["allow"] == [f"Read(/{tmp_path}/my store/hooks/**)"]
    uninstall(tmp_path)
    assert not settings(tmp_path).exists()


@pytest.mark.parametrize(
    ("before", "says"),
    [
        ("{broken", "is not JSON"),
        ("[]", "the whole is not an object"),
        ('{"hooks": []}', "hooks is not an object"),
        ('{"hooks": {"PostToolUse": {}}}', "hooks.PostToolUse is not a list"),
        ('{"permissions": {"allow": "all"}}', "permissions.allow is not a list"),
        ('// mine\n{"model": "opus"}', "is not JSON"),
        ("\udcff", "is not UTF-8"),
        ("\ufeff{}", "is not JSON"),
        (OPEN_QUOTE, "No closing quotation"),
    ],
)
def test_what_cannot_be_changed_is_left_as_it_was(tmp_path, before, says):
    """One line says what is wrong, where, and what to do."""
    path = settings(tmp_path)
    path.parent.mkdir()
    path.write_bytes(before.encode("utf-8", "surrogateescape"))
    done = install(tmp_path)
    assert done.returncode == 2
    assert says in done.stderr
    assert str(path) in done.stderr
    assert "then try again" in done.stderr
    assert path.read_bytes() == before.encode("utf-8", "surrogateescape")


def test_a_link_stays_a_link_and_permissions_stay(tmp_path):
    """Settings kept among other dot files are changed there."""
    real = tmp_path / "dotfiles" / "claude.json"
    real.parent.mkdir()
    real.write_text("{}")
    real.chmod(0o640)
    settings(tmp_path).parent.mkdir()
    settings(tmp_path).symlink_to(real)
    assert install(tmp_path).returncode == 0
    assert settings(tmp_path).is_symlink()
    assert "redline hook run" in real.read_text()
    assert real.stat().st_mode & 0o777 == 0o640


def test_a_read_only_file_is_left_alone(tmp_path):
    """Whoever made it read-only meant it."""
    settings(tmp_path).parent.mkdir()
    settings(tmp_path).write_text("{}")
    settings(tmp_path).chmod(0o444)
    done = install(tmp_path)
    assert done.returncode == 2
    assert "is read-only" in done.stderr
    assert settings(tmp_path).read_text() == "{}"


def test_the_change_is_shown_and_asked_about(tmp_path):
    """Without an answer nothing is changed; keys in lines beside the change are not shown."""
    settings(tmp_path).parent.mkdir()
    key = "sk-ant-api03-" + "aB3" * 25
    settings(tmp_path).write_text(f'{{"env": {{"ANTHROPIC_API_KEY": "{key}"}}}}')
    done = hook(tmp_path, "install", "claude-code")
    assert done.returncode == 2
    assert "--yes" in done.stderr
    assert '+  "hooks": {' in done.stdout
    assert key not in done.stdout
    assert redline("hook", "install", "claude-code", HOME=tmp_path, stdin="n\n").returncode == 1
    assert "redline" not in settings(tmp_path).read_text()
    assert redline("hook", "install", "claude-code", HOME=tmp_path, stdin="y\n").returncode == 0
    assert "redline" in settings(tmp_path).read_text()


def test_a_project_has_settings_of_its_own(tmp_path, monkeypatch):
    """The file that is not shared: the hook names a program of this machine."""
    monkeypatch.chdir(tmp_path)
    assert install(tmp_path / "home", "--project").returncode == 0
    assert "redline" in (tmp_path / ".claude" / "settings.local.json").read_text()
    assert not settings(tmp_path / "home").exists()
    assert uninstall(tmp_path / "home", "--project").returncode == 0
    assert not (tmp_path / ".claude" / "settings.local.json").exists()


def test_a_database_is_no_store_for_hooks(tmp_path):
    """Whole results are files."""
    done = install(tmp_path, "--store", "sqlite:///chats.db")
    assert done.returncode == 2
    assert "Give a folder" in done.stderr


# --- other agents: a file of the hook's own

OWN_FILES = {
    "copilot": ".copilot/hooks/redline.json",
    "opencode": ".config/opencode/plugin/redline.js",
    "pi": ".pi/agent/extensions/redline.js",
}


@pytest.mark.parametrize("agent", OWN_FILES)
def test_a_file_of_its_own_comes_and_goes(tmp_path, agent):
    """Shown first, twice is as once, another store replaces it, and nothing is left; the folder's other files stay."""
    path = tmp_path / OWN_FILES[agent]
    path.parent.mkdir(parents=True)
    (path.parent / "mine.js").write_text("// mine")
    shown = hook(tmp_path, "install", agent, "--yes")
    assert shown.returncode == 0, shown.stderr
    assert "+" in shown.stdout
    assert f"hook{', ' if agent != 'copilot' else ' '}" in path.read_text().replace('"', "")
    once = path.read_bytes()
    assert "in place already" in hook(tmp_path, "install", agent, "--yes").stdout
    assert path.read_bytes() == once
    assert hook(tmp_path, "install", agent, "--yes", "--store", str(tmp_path / "my store")).returncode == 0
    assert str(tmp_path / "my store") in path.read_text()
    assert hook(tmp_path, "uninstall", agent, "--yes").returncode == 0
    assert [one.name for one in path.parent.iterdir()] == ["mine.js"]
    assert "There is no hook" in hook(tmp_path, "uninstall", agent, "--yes").stdout


@pytest.mark.parametrize("agent", ["opencode", "pi"])
def test_a_plugin_that_somebody_changed_is_left_alone(tmp_path, agent):
    """Also one of the same name that Redline never wrote."""
    path = tmp_path / OWN_FILES[agent]
    path.parent.mkdir(parents=True)
    for text in ("export default 1", None):
        if text is None:
            path.unlink()
            hook(tmp_path, "install", agent, "--yes")
            text = path.read_text() + "// mine\n"
        path.write_text(text)
        for what in ("install", "uninstall"):
            done = hook(tmp_path, what, agent, "--yes")
            assert done.returncode == 2
            assert "Move it away" in done.stderr
            assert path.read_text() == text


def test_hooks_of_the_user_beside_copilots_stay(tmp_path):
    """In a file of Redline's name that holds more."""
    path = tmp_path / OWN_FILES["copilot"]
    path.parent.mkdir(parents=True)
    mine = '{"version": 1, "hooks": {"postToolUse": [{"type": "command", "bash": "true"}]}}'
    path.write_text(mine)
    hook(tmp_path, "install", "copilot", "--yes")
    assert len(json.loads(path.read_text())["hooks"]["postToolUse"]) == 2
    hook(tmp_path, "uninstall", "copilot", "--yes")
    assert path.read_text() == mine


def test_only_claude_code_has_settings_of_a_project(tmp_path):
    """Files of the others would be shared with people on other machines."""
    for agent in OWN_FILES:
        done = hook(tmp_path, "install", agent, "--yes", "--project")
        assert done.returncode == 2
        assert "Leave --project out" in done.stderr


# --- deleting


def test_old_whole_outputs_are_deleted(tmp_path):
    """Those that are older, after a question; what was saved stays counted."""
    answered(tmp_path, event(BASH | {"stdout": PASSED}, command="pytest -v"))
    (path,) = (tmp_path / ".redline" / "hooks").glob("*.txt")
    assert "nothing to delete" in hook(tmp_path, "clean", "--older-than", "1").stdout
    os.utime(path, (1e9, 1e9))
    done = hook(tmp_path, "clean", "--older-than", "1")
    assert (done.returncode, path.exists()) == (2, True)
    assert "--yes" in done.stderr
    assert redline("hook", "clean", "--older-than", "1", HOME=tmp_path, stdin="n\n").returncode == 1
    done = hook(tmp_path, "clean", "--older-than", "1", "--yes")
    assert "1 whole output deleted" in done.stdout
    assert not path.exists()
    assert (tmp_path / ".redline" / "hooks.accounts").exists()
    assert "nothing to delete" in hook(tmp_path, "clean", "--older-than", "0", "--store", str(tmp_path / "none")).stdout


# --- events


def test_what_a_command_prints_is_folded(tmp_path):
    """In the shape that Claude Code gave, with nothing else changed, and the account says by how much."""
    output = answered(tmp_path, event(BASH | {"stdout": MATCHES}, command="grep -rn total src"))
    folded = fold_text(MATCHES, "grep -rn total src")
    assert output == BASH | {"stdout": folded.text}
    assert unfold_text(folded) == MATCHES
    (line,) = (tmp_path / ".redline" / "hooks.accounts").read_text().splitlines()
    assert (json.loads(line)["chars"], json.loads(line)["sent_chars"]) == (len(MATCHES), len(folded.text))


def test_lines_left_out_are_in_the_file_that_the_notice_names(tmp_path):
    """For its owner only; a command that reads it is not folded again."""
    output = answered(tmp_path, event(BASH | {"stdout": PASSED}, command="pytest -v"), "--store", tmp_path / "store")
    (path,) = (tmp_path / "store" / "hooks").glob("*.txt")
    assert f"all of it: {path}]" in output["stdout"]
    assert path.read_text() == PASSED
    assert path.stat().st_mode & 0o777 == 0o600
    read_back = event(BASH | {"stdout": PASSED}, command=f"tail -n 80 {path}")
    assert answered(tmp_path, read_back, "--store", tmp_path / "store") is None


def test_where_nothing_can_be_kept_no_line_is_left_out(tmp_path):
    """Exact folds need no file."""
    (tmp_path / ".redline").write_text("a file where the folder would be")
    sent = answered(tmp_path, event(BASH | {"stdout": PASSED}, command="pytest -v"))["stdout"]
    assert sent.count("PASSED") == 90
    assert len(sent) < len(PASSED)


def test_searches_and_mcp_tools_are_folded_too(tmp_path):
    """Each in its shape: text, a list of names, blocks."""
    names = [f"src/parts/part_{number}.c" for number in range(40)]
    grep = {"mode": "content", "numFiles": 0, "filenames": [], "content": MATCHES, "numLines": 32}
    assert answered(tmp_path, event(grep, "Grep", pattern="total"))["content"].startswith("src/")
    glob = {"filenames": names, "durationMs": 1, "numFiles": 40, "truncated": False}
    found = answered(tmp_path, event(glob, "Glob", pattern="*.c"))
    assert found["filenames"][0] == "src/parts/"
    assert found["numFiles"] == 40
    assert answered(tmp_path, event(MATCHES, "mcp__code__search")).startswith("src/")
    image = {"type": "image", "data": "x"}
    first, last = answered(tmp_path, event([{"type": "text", "text": MATCHES}, image], "mcp__code__search"))
    assert first["text"].startswith("src/")
    assert last == image


def of_copilot(text, tool="bash", kind="success"):
    return json.dumps({"toolName": tool, "toolArgs": {}, "toolResult": {"resultType": kind, "textResultForLlm": text}})


ENDED = "\n<shellId: 0 completed with exit code 0>"


def test_other_agents_are_answered_in_their_shapes(tmp_path):
    """Blocks and texts of plugins, and Copilot CLI's result, whose last line stays."""

    def said(agent, told):
        done = redline("hook", "run", "--agent", agent, HOME=tmp_path, stdin=told)
        assert (done.returncode, done.stderr) == (0, "")
        return json.loads(done.stdout) if done.stdout else None

    blocks = [{"type": "text", "text": MATCHES}, {"type": "image", "data": "x"}]
    for agent in ("opencode", "pi"):
        first, last = said(agent, event(blocks, "bash", command="grep -rn total src"))["output"]
        assert (first["text"].startswith("src/"), last) == (True, blocks[1])
        assert said(agent, event(MATCHES, "bash", command="grep -rn total src"))["output"].startswith("src/")
        assert said(agent, event(MATCHES, "bash", command="cat matches.txt")) is None
        assert said(agent, event({"stdout": MATCHES}, "bash")) is None
    result = said("copilot", of_copilot(MATCHES.rstrip("\n") + ENDED))["modifiedResult"]
    assert result["resultType"] == "success"
    assert result["textResultForLlm"].startswith("src/")
    assert result["textResultForLlm"].endswith(ENDED)
    for left in (
        of_copilot(MATCHES + "<shellId: 0 completed with exit code 3>"),
        of_copilot(MATCHES),
        of_copilot(MATCHES + ENDED, kind="failure"),
        of_copilot(MATCHES, "view"),
        of_copilot("Shell output was automatically compacted. See /tmp/x\n" + MATCHES + ENDED),
        json.dumps({"toolName": "bash", "toolResult": "text"}),
    ):
        assert said("copilot", left) is None
    agents = {json.loads(line)["agent"] for line in (tmp_path / ".redline" / "hooks.accounts").read_text().splitlines()}
    assert agents == {"copilot", "opencode", "pi"}


@pytest.mark.parametrize(
    "said",
    [
        event(BASH | {"stdout": MATCHES + "Traceback (most recent call last):\n  File\nValueError: no\n"}, command="x | cat"),
        event(BASH | {"stdout": MATCHES, "stderr": "exit code: 3"}, command="grep -rn total src"),
        event(BASH | {"stdout": MATCHES, "interrupted": True}, command="grep -rn total src"),
        event(BASH | {"stdout": MATCHES, "persistedOutputPath": "/tmp/x"}, command="grep -rn total src"),
        event(BASH | {"stdout": MATCHES}, command="cat matches.txt"),
        event({"type": "text", "file": {"content": MATCHES}}, "Read", file_path="a"),
        event({"filePath": "a", "originalFile": MATCHES}, "Edit", file_path="a"),
        event(MATCHES, "Bash", command="grep"),
        event(BASH | {"stdout": "short"}, command="ls"),
        event(BASH | {"stdout": MATCHES}, command="grep").replace("PostToolUse", "PreToolUse"),
        "",
        "{",
        "[]",
        "[" * 100_000,
        '{"hook_event_name": "PostToolUse", "tool_name": 3}',
        '{"hook_event_name": "PostToolUse", "tool_name": "Bash", "tool_input": 3, "tool_response": null}',
        event(BASH | {"stdout": MATCHES * 8_000}, command="grep -rn total src"),
    ],
    ids=lambda said: said[-60:],
)
def test_anything_else_passes_as_it_is(tmp_path, said):
    """Failures, reads, edits, what was cut off, no events, large ones: nothing is printed, and nothing is kept."""
    assert answered(tmp_path, said) is None
    assert not (tmp_path / ".redline").exists()


def test_no_option_makes_it_fail(tmp_path):
    """A store that is no folder is passed over in silence."""
    for store in ("chats", "x" * 5000, "/dev/null", "sqlite:///x.db", "~no-such-user/x"):
        sent = answered(tmp_path, event(BASH | {"stdout": PASSED}, command="pytest -v"), "--store", store)
        assert sent is None or sent["stdout"].count("PASSED") == 90


# --- what it costs


def test_little_is_imported(tmp_path):
    """An event that needs no fold imports none; no event imports the command line, the providers or the engine."""
    code = "import runpy, sys; runpy.run_module('redline', run_name='__main__', alter_sys=True); print('\\n', *sys.modules)"
    for output, most in ((BASH | {"stdout": "short"}, 5), (BASH | {"stdout": PASSED}, 60)):
        done = subprocess.run(
            [sys.executable, "-c", code, "hook", "run"],
            input=event(output, command="pytest -v"),
            capture_output=True,
            text=True,
            env={**os.environ, **FROM_HERE, "HOME": str(tmp_path)},
            check=True,
        )
        loaded = [name for name in done.stdout.splitlines()[-1].split() if name.startswith("redline.")]
        assert len(loaded) <= most, loaded
        assert not {name.split(".")[1] for name in loaded} & {"cli", "providers", "engine", "rules", "policy"}
        assert "click" not in done.stdout.splitlines()[-1].split()
