"""Results from which a proxy leaves lines out: the whole is in a file for agents to read, or no line is left out."""

import json
import re
import subprocess
import tempfile
from contextlib import contextmanager
from pathlib import Path

import pytest

from redline.proxy.serve import _open_editor
from redline.proxy.settings import ProxySettings
from redline.record.opening import read_log
from redline.record.records import StrikesApplied
from redline.store import Store
from tests.partial_fold import COMMAND, PROGRESS, use_partial_fold
from tests.proxy.support import proxy, upstream

KEY = [("x-api-key", "k"), ("x-claude-code-session-id", "chat")]
LOGIN = [("authorization", "Bearer t"), ("anthropic-beta", "oauth-2025-04-20")]


@pytest.fixture(autouse=True)
def partial_fold(monkeypatch):
    use_partial_fold(monkeypatch)


def history(*results):
    messages = [{"role": "user", "content": "go"}]
    for number, text in enumerate(results):
        call = {"type": "tool_use", "id": f"t{number}", "name": "Bash", "input": {"command": COMMAND}}
        result = {"type": "tool_result", "tool_use_id": f"t{number}", "content": text}
        messages += [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]
    return json.dumps({"model": "claude-opus-4-6", "max_tokens": 9, "messages": messages}).encode()


@contextmanager
def editing(up, tmp_path, **settings):
    """A proxy with the editor that `redline proxy` would open with these settings."""
    settings = {"store": str(tmp_path / "store"), **settings}
    with proxy(up.url, tmp_path, open_editor=lambda: _open_editor(ProxySettings(**settings)), **settings) as running:
        yield running


def results_sent(up):
    """The texts of the results in the last request that arrived."""
    messages = json.loads(up.seen[-1].body)["messages"]
    blocks = [block for one in messages if isinstance(one["content"], list) for block in one["content"]]
    return [block["content"] for block in blocks if block["type"] == "tool_result"]


def file_named_in(text):
    return Path(text.partition("all of it: ")[2].partition("]")[0])


def test_lines_are_left_out_and_the_whole_is_a_file(tmp_path):
    """Without any setting: in a folder with the store, for its owner only, text as it was said; the notice has its path."""
    with upstream() as up, editing(up, tmp_path) as running:
        assert running.ask(body=history(PROGRESS), headers=KEY).status == 200
        (sent,) = results_sent(up)
        file = file_named_in(sent)
        status = running.settled(1)
    assert sent.startswith("begin\nprogress 0: all is as it should be here\n[58 lines left out; all of it: /")
    assert (file.parent, file.suffix) == (tmp_path / "store" / "whole", ".txt")
    assert file.read_text() == PROGRESS
    assert (file.stat().st_mode & 0o777, file.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    assert (status["whole_in"], status["whole_problem"]) == (str(file.parent), "")
    assert Store(tmp_path / "store").list()[0].messages == 3, "the folder is no conversation"


def test_equal_results_share_a_file_and_bytes_stay(tmp_path):
    """Also in another session, and after a restart."""
    bodies = []
    for _ in range(2):
        with upstream() as up, editing(up, tmp_path) as running:
            for session in ("one", "two"):
                running.ask(body=history(PROGRESS, "ok"), headers=[("x-api-key", "k"), ("x-claude-code-session-id", session)])
                bodies.append(up.seen[-1].body)
    assert len(set(bodies)) == 1
    assert len(list((tmp_path / "store" / "whole").iterdir())) == 1


@pytest.mark.parametrize(
    ("settings", "headers"), [({"is_dry_run": True}, KEY), ({}, LOGIN)], ids=["a dry run", "a subscription pays"]
)
def test_what_is_only_observed_writes_no_file(tmp_path, settings, headers):
    """Nothing is left out, no file is written, and what would have been left out is reported."""
    with upstream() as up, editing(up, tmp_path, **settings) as running:
        running.ask(body=history(PROGRESS), headers=headers)
        status = running.settled(1)
    assert results_sent(up) == [PROGRESS]
    assert not (tmp_path / "store" / "whole").exists()
    assert status["totals"]["would_fold_tokens"] > 100


def test_a_folder_of_your_own(tmp_path):
    """`--whole-in` names it."""
    with upstream() as up, editing(up, tmp_path, whole_in=str(tmp_path / "mine")) as running:
        running.ask(body=history(PROGRESS), headers=KEY)
    assert file_named_in(results_sent(up)[0]).parent == tmp_path / "mine"


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"whole_in": "off"}, "it is switched off"),
        ({"host": "0.0.0.0", "token": "a-long-token-for-them"}, "agents on other machines"),
        ({"store": "postgresql://me:secret@host/chats"}, r"the store postgresql://me:\*+@host/chats is not in a folder"),
    ],
    ids=["off", "others can reach it", "a database server"],
)
def test_no_line_is_left_out_where_agents_cannot_read_files(tmp_path, settings, why):
    """And the settings say why."""
    place = ProxySettings(**{"store": str(tmp_path / "store"), **settings}).whole_place
    assert place.folder == ""
    assert re.match(why, place.why_none), place.why_none


def test_beside_a_database_file(tmp_path):
    """The folder is named after it."""
    assert ProxySettings(f"sqlite:///{tmp_path}/chats.db").whole_place.folder == f"{tmp_path}/chats.db.whole"


def test_switched_off_results_are_sent_as_they_were_said(tmp_path):
    """Folds that lose nothing stay."""
    with upstream() as up, editing(up, tmp_path, whole_in="off") as running:
        running.ask(body=history(PROGRESS), headers=KEY)
        assert running.settled(1)["whole_in"].startswith("nowhere: it is switched off")
    assert results_sent(up) == [PROGRESS]


def test_a_policy_that_names_a_place_keeps_it(tmp_path):
    """The proxy names a folder only where the policy's rule has none."""
    policy = tmp_path / "redline.toml"
    policy.write_text(f'rules = [{{name = "folded", whole_in = "{tmp_path}/theirs"}}]\n')
    with upstream() as up, editing(up, tmp_path, policy=str(policy)) as running:
        running.ask(body=history(PROGRESS), headers=KEY)
    assert file_named_in(results_sent(up)[0]).parent == tmp_path / "theirs"


def test_results_go_to_files_beside_blobs(tmp_path):
    """Offloaded results go to `--blobs`, whole results to their folder."""
    policy = tmp_path / "redline.toml"
    policy.write_text('rules = ["folded", {name = "offload_results", min_chars = 9000}]\n')
    with upstream() as up, editing(up, tmp_path, policy=str(policy), blobs=str(tmp_path / "blobs")) as running:
        running.ask(body=history(PROGRESS, "x " * 9000), headers=KEY)
    assert len(list((tmp_path / "blobs").iterdir())) == len(list((tmp_path / "store" / "whole").iterdir())) == 1


def test_a_result_with_a_secret_is_written_nowhere(tmp_path):
    """With `--redact` such a result is sent as it was said, as its record does not hold it whole."""
    secret = "sk-ant-api03-" + "a1B2c3D4e5" * 9
    said = PROGRESS.replace("progress 9:", f"progress 9: {secret}")
    with upstream() as up, editing(up, tmp_path, redacts=True) as running:
        running.ask(body=history(said, PROGRESS), headers=KEY)
    assert results_sent(up)[0] == said
    (file,) = (tmp_path / "store" / "whole").iterdir()
    assert file.read_text() == PROGRESS
    assert not any(secret in one.read_text() for one in (tmp_path / "store").rglob("*") if one.is_file())


def test_a_folder_that_cannot_be_written_costs_nothing(tmp_path, caplog):
    """A file in its place: results are sent as they were said, status and log say why once, and later it works again."""
    folder = tmp_path / "store" / "whole"
    folder.parent.mkdir()
    folder.write_text("a file")
    with upstream() as up, editing(up, tmp_path) as running:
        for count in range(1, 4):
            running.ask(body=history(*(f"{PROGRESS} {number}" for number in range(count))), headers=KEY)
        status = running.settled(3)
        assert results_sent(up) == [f"{PROGRESS} {number}" for number in range(3)]
        assert str(folder) in status["whole_problem"]
        assert [note for note in status["notes"] if "whole text cannot be stored" in note] == [status["notes"][-1]]
        assert status["store_problem"] == ""
        folder.unlink()
        running.ask(body=history(*(f"{PROGRESS} {number}" for number in range(4))), headers=KEY)
        assert [("left out" in sent) for sent in results_sent(up)] == [False, False, False, True]
        assert running.settled(4)["whole_problem"] == ""
    said = [record.getMessage() for record in caplog.records if "Whole results" in record.getMessage()]
    assert [text.partition(":")[0].partition(",")[0] for text in said] == [
        "Whole results cannot be stored",
        "Whole results are stored again.",
    ]


def test_a_full_disk_costs_nothing(tmp_path):
    """A file system of 64 kB that is full."""
    folder = Path(tempfile.mkdtemp(dir=tmp_path))
    mount = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", folder], capture_output=True, check=False)
    if mount.returncode:
        pytest.skip("only root may mount")
    try:
        with pytest.raises(OSError, match="No space left"):
            (folder / "filler").write_bytes(bytes(1 << 20))
        with upstream() as up, editing(up, tmp_path, whole_in=str(folder)) as running:
            assert running.ask(body=history(PROGRESS), headers=KEY).status == 200
            assert "No space left" in running.settled(1)["whole_problem"]
        assert results_sent(up) == [PROGRESS]
        assert [file.name for file in folder.iterdir()] == ["filler"]
    finally:
        subprocess.run(["umount", folder], check=True)


def test_the_record_says_what_was_left_out(tmp_path):
    """A strike with the reference of the file, which is stored before the strike."""
    with upstream() as up, editing(up, tmp_path) as running:
        running.ask(body=history(PROGRESS), headers=KEY)
        running.settled(1)
    store = Store(tmp_path / "store")
    records = [one.record for one in read_log(store.address_of(store.names()[0])).records]
    (strike,) = [strike for one in records if isinstance(one, StrikesApplied) for strike in one.strikes]
    assert strike.is_partial
    assert file_named_in(strike.replacement).stem == strike.reference[:16]
