"""`redline mcp`: what it takes; what it does is tested with the client of the protocol, in tests/mcp_server."""

from redline import Store
from tests.cli.run import redline
from tests.store.places import talk


def test_a_store_that_is_not_there(tmp_path):
    """A slip of the pen is an error, not an empty store."""
    done = redline("mcp", "--store", str(tmp_path / "chatz"))
    assert done.returncode == 2
    assert "There is no store at" in done.stderr


def test_a_session_without_a_name(tmp_path):
    done = redline("mcp", f"sqlite:///{tmp_path}/chats.db")
    assert done.returncode == 2
    assert "names no conversation" in done.stderr


def test_without_an_address_it_is_the_store_of_the_proxy(tmp_path):
    """As `ls` and `stats` take it."""
    assert "There is no store at" in redline("ls", HOME=tmp_path).stderr
    with Store(tmp_path / ".redline") as store:
        talk(store, "monday", "Why?")
    assert "monday" in redline("ls", HOME=tmp_path).stdout
    assert "conversations" in redline("ls", "--stats", HOME=tmp_path).stdout
    assert redline("mcp", HOME=tmp_path).returncode == 0
