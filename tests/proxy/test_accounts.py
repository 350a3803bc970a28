"""The accounts: what is summed up, and that several processes may write them."""

import subprocess
import sys
import time
from pathlib import Path

from redline.providers.usage import Usage
from redline.proxy.accounts import Accounts, ProxiedRequest, accounts_path
from tests.record.logs import file_size_limit


def request(**fields):
    return ProxiedRequest(**{"at": time.time(), "status": 200, "provider": "anthropic", **fields})


def test_sums_by_session_project_and_lifetime(tmp_path):
    """Every request is in the totals, and in those of its session and of its project."""
    accounts = Accounts(tmp_path / "a.accounts")
    accounts.add(request(session="s", project="p", model="m", usage=Usage(1, 2, 3, 4), struck_tokens=5, cost=0.5, saved=0.1))
    accounts.add(request(session="t", project="p", model="m", usage=Usage(1, 2, 3, 4), cost=0.5, saved=0.2, is_unchanged=True))
    accounts.add(request(session="s", status=529, fallback="too slow", cut="client", why="miss", untouched="x"))
    accounts.refresh()
    totals = accounts.totals.report()
    assert (totals["requests"], totals["sent_tokens"], totals["output_tokens"]) == (3, 16, 4)
    assert (totals["cost_usd"], totals["saved_usd"], totals["would_save_usd"]) == (1.0, 0.1, 0.2)
    assert totals["cache_hit_rate"] == 0.375
    assert (totals["errors"], totals["retreats"], totals["cut"], totals["why"]) == ({"529": 1}, 1, {"client": 1}, {"miss": 1})
    assert accounts.sessions["s"].sums["requests"] == 2
    assert accounts.projects["p"].sums["struck_tokens"] == 5
    accounts.close()


def test_a_new_process_goes_on_with_the_sums(tmp_path):
    """The file holds all there is; a run counts from its own start."""
    first = Accounts(tmp_path / "a.accounts")
    first.add(request(at=100.0))
    first.close()
    second = Accounts(tmp_path / "a.accounts", since=200.0)
    second.add(request(at=300.0))
    second.refresh()
    assert (second.totals.sums["requests"], second.run.sums["requests"]) == (2, 1)
    second.close()


def test_a_damaged_line_is_passed_over(tmp_path):
    """What a crash tore, and what somebody else wrote, costs only itself."""
    path = tmp_path / "a.accounts"
    path.write_bytes(b'{"at": 1.0, "status": 200}\n{"at": 1.0, "sta\nnonsense\n{"at": 2.0, "status": 200, "later": 1}\n')
    accounts = Accounts(path)
    accounts.refresh()
    assert accounts.totals.sums["requests"] == 2
    accounts.close()


def test_a_full_disk_loses_no_request_and_spoils_no_line(tmp_path):
    """What does not fit is counted by this process, and says why; with room again the file goes on with a line of its own."""
    path = tmp_path / "a.accounts"
    accounts = Accounts(path)
    accounts.add(request(session="one"))
    with file_size_limit(path.stat().st_size + 20):
        accounts.add(request(session="two"))
        assert "No space left on device" in accounts.problem
        accounts.add(request(session="three"))
    accounts.add(request(session="four"))
    assert accounts.problem == ""
    accounts.refresh()
    assert accounts.totals.sums["requests"] == 4
    assert set(accounts.sessions) == {"one", "two", "three", "four"}
    accounts.close()


def test_several_processes_write_one_file(tmp_path):
    """Lines of four processes do not mix, and each process sees all of them."""
    path = tmp_path / "a.accounts"
    code = (
        "import sys, pathlib\nfrom redline.proxy.accounts import Accounts, ProxiedRequest\n"
        "accounts = Accounts(pathlib.Path(sys.argv[1]))\n"
        "for n in range(500): accounts.add(ProxiedRequest(at=1.0, status=200, session='s' * 300, sent_bytes=n))\n"
    )
    source = str(Path(__file__).resolve().parents[2] / "src")
    writers = [subprocess.Popen([sys.executable, "-c", code, str(path)], env={"PYTHONPATH": source}) for _ in range(4)]
    assert [writer.wait(60) for writer in writers] == [0] * 4
    accounts = Accounts(path)
    accounts.refresh()
    assert accounts.totals.sums["requests"] == 2000
    accounts.close()


def test_the_request_before_is_found(tmp_path):
    """By chain or session, and model: a title that another model writes does not come between, nor a side question."""
    accounts = Accounts(tmp_path / "a.accounts")
    accounts.add(request(session="s", chain="c", model="big", sent_bytes=1))
    accounts.add(request(session="s", chain="d", model="small", sent_bytes=2))
    accounts.add(request(session="s", chain="e", model="big", sent_bytes=3))
    accounts.refresh()
    assert [accounts.previous(name, "big").sent_bytes for name in ("s", "c", "e")] == [3, 1, 3]
    assert accounts.previous("s", "small").sent_bytes == 2
    assert accounts.previous("t", "big") is None
    assert accounts.previous("", "big") is None
    accounts.close()


def test_where_the_accounts_are(tmp_path, monkeypatch):
    """In the store's folder, beside its database, or at home; no password is in the name."""
    monkeypatch.setenv("HOME", str(tmp_path))
    assert accounts_path(str(tmp_path / "store")) == tmp_path / "store" / "proxy.accounts"
    assert accounts_path("sqlite:///x/chats.db") == Path("x/chats.db.accounts")
    here = accounts_path("postgresql://me:secret@host/db")
    assert here.parent == tmp_path / ".redline"
    assert here == accounts_path("postgresql://me:other@host/db")
