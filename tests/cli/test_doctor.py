import json
import os

from redline.agents.launching.runs import free_port
from redline.agents.registry import AGENTS
from tests.cli.run import redline


def install(folder, name, says):
    """A program that says its version."""
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(f"#!/bin/sh\necho '{says}'\n")
    (folder / name).chmod(0o755)


def test_every_agent_is_examined(tmp_path):
    """Whether it is installed, how it is routed and what it loses: within 80 columns, and the same for programs."""
    install(tmp_path / "bin", "codex", "codex-cli 0.166.0")
    place = {"PATH": f"{tmp_path / 'bin'}{os.pathsep}/bin:/usr/bin", "HOME": str(tmp_path)}
    done = redline("doctor", width=80, **place)
    assert (done.returncode, done.stderr) == (0, "")
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert "Codex: codex-cli 0.166.0" in done.stdout
    assert "Claude Code: not on the PATH" in done.stdout
    assert all(agent.losses[0].split()[0] in done.stdout for agent in AGENTS)
    report = json.loads(redline("doctor", "--json", **place).stdout)
    codex = next(one for one in report["agents"] if one["program"] == "codex")
    assert codex["command"] == "codex -c 'openai_base_url=\"http://127.0.0.1:8484/v1\"'"
    assert (codex["version"], codex["is_routed"], codex["base_urls"]) == ("codex-cli 0.166.0", True, [])
    assert [one["program"] for one in report["agents"]] == [*(agent.program for agent in AGENTS), ""]


def test_a_setting_that_a_dead_proxy_left_is_found(tmp_path):
    """Its place and its address are named, and the exit code says so."""
    dead = f"http://127.0.0.1:{free_port()}"
    (tmp_path / ".codex").mkdir()
    (tmp_path / ".codex" / "config.toml").write_text(f'openai_base_url = "{dead}"\n')
    done = redline("doctor", HOME=str(tmp_path), width=200)
    assert (done.returncode, "1 setting to a dead address" in done.stderr) == (1, True)
    assert f"DEAD      {dead} (openai_base_url in {tmp_path / '.codex' / 'config.toml'})" in done.stdout
    report = json.loads(redline("doctor", "--json", HOME=str(tmp_path)).stdout)
    assert report["dead"] == 1


def test_a_damaged_file_is_a_problem_of_one_agent(tmp_path):
    """The others are examined all the same."""
    (tmp_path / ".codex").mkdir()
    (tmp_path / ".codex" / "config.toml").write_text("=")
    report = json.loads(redline("doctor", "--json", HOME=str(tmp_path)).stdout)
    problems = {one["program"]: one["problem"] for one in report["agents"]}
    assert "config.toml is not TOML" in problems["codex"]
    assert problems["claude"] is None


def test_no_key_is_shown(tmp_path):
    """The doctor reads files and variables that hold keys, and prints none."""
    path = tmp_path / ".cline" / "data" / "settings" / "providers.json"
    path.parent.mkdir(parents=True)
    entry = {"settings": {"apiKey": "sk-secret", "baseUrl": "https://gateway"}}
    path.write_text(json.dumps({"lastUsedProvider": "anthropic", "providers": {"anthropic": entry}}))
    for options in ((), ("--json",)):
        own = json.dumps({"provider": {"openai": {"options": {"apiKey": "sk-secret", "baseURL": "https://u:sk-secret@host"}}}})
        place = {"HOME": str(tmp_path), "ANTHROPIC_API_KEY": "sk-secret", "OPENCODE_CONFIG_CONTENT": own}
        done = redline("doctor", *options, width=200, **place)
        assert "https://gateway" in done.stdout
        assert "sk-secret" not in done.stdout + done.stderr


def test_the_place_of_whole_results_is_told(tmp_path):
    """A folder, or why no line can be left out of results."""
    home = {"HOME": str(tmp_path), "width": 80}
    assert json.loads(redline("doctor", "--json", **home).stdout)["whole_in"] == str(tmp_path / ".redline" / "whole")
    done = redline("doctor", **home, REDLINE_STORE="postgresql://me:secret@host/chats")
    said = " ".join(done.stdout.split())
    assert "Lines left out of results: not possible: the store postgresql://me:***@host/chats is not in a folder" in said
    report = json.loads(redline("doctor", "--json", **home, REDLINE_WHOLE_IN="off").stdout)
    assert (report["whole_in"], report["whole_in_none"]) == ("", "it is switched off (--whole-in off)")
