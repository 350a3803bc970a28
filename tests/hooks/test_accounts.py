"""What hooks have saved: added up from their lines, and one answer in every surface."""

import json

import pytest

from redline.hooks.accounts import HookSavings, read_hook_accounts
from tests.cli.run import redline

SESSION = "01a1f65c-bfff-771e-99f9-d4d307d2da33"


def line(session=SESSION, chars=1000, sent=200, **more):
    return json.dumps(
        {"at": 1.0, "agent": "claude-code", "session": session, "tool": "Bash", "chars": chars, "sent_chars": sent} | more
    )


def test_lines_are_added_up_by_session(tmp_path):
    """In all, and for the session whose file or address has its name; a torn or foreign line counts as nothing."""
    bad = ["{", "[]", '{"session": 1}', line(chars=-1), line(sent=5000), line(chars=1 << 50), "\xff", line()[:40]]
    (tmp_path / "hooks.accounts").write_text(
        "\n".join([line(), line(), line("ses_e099f79ffffeM6", 400, 0), line("", 40, 0), *bad])
    )
    accounts = read_hook_accounts(str(tmp_path))
    assert accounts.total == HookSavings(4, 2440, 400)
    assert accounts.total.saved_tokens == 510
    for place in (
        f"/home/x/.claude/projects/p/{SESSION}.jsonl",
        f"/s/2026-11-20_{SESSION}.jsonl",
        f"/state/{SESSION}/events.jsonl",
    ):
        assert accounts.of_place(place) == HookSavings(2, 2000, 400)
    assert accounts.of_place("/data/opencode.db#ses_e099f79ffffeM6").folds == 1
    assert accounts.of_place(f"/{SESSION}/a/b.jsonl") == accounts.of_place("/other.jsonl") == HookSavings()


@pytest.mark.parametrize("store", ["sqlite:///x.db", "/nowhere/at/all", "~no-such-user/x"])
def test_a_store_without_accounts_has_saved_nothing(store):
    """Also one that can have none."""
    assert read_hook_accounts(store).total == HookSavings()


def test_every_surface_says_the_same(tmp_path, monkeypatch):
    """`sessions`, `ls --stats` and the inspector, from one account; a session that has not changed is told what is new."""
    pytest.importorskip("starlette")
    from redline.inspector.session_registry import SessionRegistry

    folder = tmp_path / ".claude" / "projects" / "p"
    folder.mkdir(parents=True)
    said = {"type": "user", "sessionId": SESSION, "uuid": "a", "parentUuid": None, "timestamp": "2026-11-20T00:00:00Z"}
    (folder / f"{SESSION}.jsonl").write_text(json.dumps(said | {"message": {"role": "user", "content": "hello"}}) + "\n")
    store = tmp_path / ".redline"
    store.mkdir()
    monkeypatch.setenv("HOME", str(tmp_path))
    for count in (1, 2):
        (store / "hooks.accounts").write_text((line() + "\n") * count)
        (row,) = (json.loads(one) for one in redline("sessions", "--json", HOME=tmp_path).stdout.splitlines())
        sums = json.loads(redline("ls", str(store), "--stats", "--json", HOME=tmp_path).stdout)
        for told in (row, sums):
            assert (told["hook_folds"], told["hook_saved_tokens"]) == (count, 200 * count)
    assert "400 tok." in redline("sessions", HOME=tmp_path).stdout
    assert (
        "2 outputs folded by hooks, 1,600 characters less (measured)"
        in redline("ls", str(store), "--stats", HOME=tmp_path).stdout
    )
    registry = SessionRegistry(())
    registry.look()
    registry.work_out_rows()
    (shown,) = registry.rows()["sessions"]
    assert (shown["hook_folds"], shown["hook_saved_tokens"]) == (2, 400)
