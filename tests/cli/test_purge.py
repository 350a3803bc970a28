"""`redline purge`: everything of Redline's on this computer, named first, gone afterwards; `redline proxy --keep` besides."""

import time

import redline as library
from redline.testing import fake_provider, says
from tests.cli.run import redline
from tests.cli.test_proxy import ask, reads, started


def filled(home):
    """A home as Redline leaves it, with things of the user's own beside."""
    for place in (".redline/whole/0123456789abcdef.txt", ".redline/hooks.accounts", ".cache/redline/catalog", "kept/notes.txt"):
        (home / place).parent.mkdir(parents=True, exist_ok=True)
        (home / place).write_text("x" * 10)
    (home / ".local/state/redline").mkdir(parents=True)
    (home / ".local/state/redline/proxy.key").write_text("0" * 64)
    with library.open(home / ".redline" / "chat.jsonl") as talk:
        talk.add({"role": "user", "content": "hello"})
    return {"HOME": home}


def there(home):
    return {path.relative_to(home).as_posix() for path in home.rglob("*") if path.is_file()}


def test_everything_of_ours_goes(tmp_path):
    """And nothing else; doing it again finds nothing."""
    env = filled(tmp_path)
    done = redline("purge", "--yes", **env)
    assert (done.returncode, done.stderr) == (0, "")
    assert there(tmp_path) == {"kept/notes.txt"}
    for place in (".redline", ".cache/redline", ".local/state/redline"):
        assert f"{tmp_path / place}: " in done.stdout
    assert done.stdout.endswith("5 files deleted\n")
    assert redline("purge", "--yes", **env).stdout == "There is nothing to delete.\n"


def test_a_question_comes_first(tmp_path):
    """No answer is a no, and a dry run asks nothing."""
    env = filled(tmp_path)
    before = there(tmp_path)
    assert redline("purge", stdin="n\n", **env).returncode == 1
    done = redline("purge", "--dry-run", **env)
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "Nothing was deleted: --dry-run.")
    assert there(tmp_path) == before
    assert redline("purge", stdin="y\n", **env).returncode == 0
    assert there(tmp_path) == {"kept/notes.txt"}


def test_what_is_the_users_is_named(tmp_path):
    """Settings, hooks in settings of agents, and stores elsewhere are left, with what to do about each."""
    env = filled(tmp_path)
    assert redline("hook", "install", "claude-code", "--yes", **env).returncode == 0
    (tmp_path / ".config/redline").mkdir(parents=True)
    (tmp_path / ".config/redline/redline.toml").write_text(f'[proxy]\nstore = "{tmp_path}/kept"\n')
    done = redline("purge", "--yes", **env, REDLINE_CONFIG="")
    left = {"kept/notes.txt", ".claude/settings.json", ".config/redline/redline.toml"}
    assert there(tmp_path) == left
    assert f"not deleted: {tmp_path}/kept (your store: redline rm {tmp_path}/kept --keep-last 0)" in done.stdout
    assert "(your settings: delete the file)" in done.stdout
    assert "(the hook: redline hook uninstall claude-code)" in done.stdout


def test_a_link_is_not_followed(tmp_path):
    """What a link in the folder leads to is another's."""
    env = filled(tmp_path)
    (tmp_path / ".redline" / "link").symlink_to(tmp_path / "kept")
    assert redline("purge", "--yes", **env).returncode == 0
    assert there(tmp_path) == {"kept/notes.txt"}


def test_not_while_a_proxy_runs(tmp_path):
    """It would go on writing there; once it is over, also by a kill, nothing is in the way."""
    env = filled(tmp_path)
    with fake_provider([says("assistant", "Yes.")]) as provider, started(provider, str(tmp_path / ".redline")):
        done = redline("purge", "--yes", **env)
        assert (done.returncode, "A proxy is running" in done.stderr) == (2, True)
        assert redline("purge", "--dry-run", **env).returncode == 0
        assert ".redline/chat.jsonl" in there(tmp_path)
    assert redline("purge", "--yes", **env).returncode == 0
    assert there(tmp_path) == {"kept/notes.txt"}


def test_a_proxy_deletes_what_is_unused(tmp_path):
    """`--keep 30d`: at once, while requests are answered; what is used now stays."""
    store = tmp_path / "store"
    with library.open(store / "old.jsonl", clock=lambda: (time.time() - 40 * 86_400) * 1000) as talk:
        talk.add({"role": "user", "content": "hello"})
    with fake_provider([says("assistant", "Yes.")]) as provider, started(provider, str(store), "--keep", "30d") as proxy:
        ask(proxy.url, "/v1/messages", reads(2))
        for _ in range(400):
            if not (store / "old.jsonl").exists():
                break
            time.sleep(0.05)
        assert not (store / "old.jsonl").exists()
        ask(proxy.url, "/redline/health")
    assert "keep: 1 deleted that were not used for 30d" in proxy.log
    assert [name for name in library.Store(store).names() if name != "old"]
    done = redline("proxy", "--keep", "soon", "--store", store)
    assert (done.returncode, "--keep is a number and a unit" in done.stderr) == (2, True)
