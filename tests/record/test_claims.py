import os
import re
import signal
import socket
import subprocess
import sys
import time

import psycopg
import pytest

import redline
from redline.errors import LogError
from redline.record.backends.postgres import PostgresLog
from redline.record.log import ROOT
from redline.record.opening import open_log
from tests.postgres import running_postgres
from tests.record.logs import KINDS, append_each, environment, message, new_address, said
from tests.store.places import KINDS as STORES
from tests.store.places import new_store

HOLDER = """
import sys, time
from redline.record.opening import open_log

log = open_log(sys.argv[1], durability="os", exclusive=True)
print("open", flush=True)
time.sleep(60)
"""

CONTENDER = """
import sys, time
from redline.errors import LogError
from redline.record.opening import open_log

print("trying", flush=True)
start = time.monotonic()
try:
    open_log(sys.argv[1], exclusive=True)
except LogError:
    print(time.monotonic() - start)
"""


@pytest.fixture(params=KINDS)
def address(request, tmp_path):
    """Of a log with one record."""
    address = new_address(request.param, tmp_path, request)
    append_each(open_log(address, durability="os"), ["one"])
    return address


@pytest.fixture
def holder(address):
    """Another process that has the log open exclusively."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, address], stdout=subprocess.PIPE, env=environment(), start_new_session=True
    )
    assert process.stdout.readline() == b"open\n"
    yield process
    process.kill()
    process.communicate()


def told(pid):
    """What the error says of a writer."""
    host = re.escape(socket.gethostname()[:43])
    return rf"is open exclusively by process {pid} on {host}.*, since 20\d\d-\d\d-\d\d \d\d:\d\d:\d\d UTC\. .*Nothing was added"


def test_second_writer_is_told_of_the_first(address, holder):
    """One that wants it exclusively cannot open it; one that does not cannot append; both are told which process has it."""
    with pytest.raises(LogError, match=told(holder.pid)):
        open_log(address, exclusive=True)
    other = open_log(address)
    with pytest.raises(LogError, match=told(holder.pid)):
        other.append([message("two")], parent=0)
    with pytest.raises(LogError, match=told(holder.pid)):
        other.append([message("two"), message("three")], parent=0)


def test_holder_goes_on_while_another_tries(address):
    """R136: an attempt to open it exclusively waits for a moment; meanwhile its writer appends as before."""
    log = open_log(address, durability="os", exclusive=True)
    last, shares = 0, list[float]()
    for _ in range(3):
        other = subprocess.Popen([sys.executable, "-c", CONTENDER, address], stdout=subprocess.PIPE, env=environment())
        assert other.stdout.readline() == b"trying\n"
        slowest = 0.0
        while other.poll() is None:
            start = time.monotonic()
            last = log.append([message("on")], parent=last)
            slowest = max(slowest, time.monotonic() - start)
        shares.append(slowest / float(other.communicate()[0]))
    log.close()
    assert min(shares) < 0.5  # of the time that the attempt took, which is all of it if an append waits for its end


def test_readers_are_not_hindered(address, holder):
    """Whoever only reads does not notice."""
    assert said(open_log(address)) == ["one"]
    with redline.open(address) as talk:
        assert [one["content"] for one in talk.messages] == ["one"]


def test_claim_ends_with_its_process(address, holder):
    """Also with one that is killed: what was open goes on, and the next one can have it."""
    other = open_log(address)
    with pytest.raises(LogError, match="is open exclusively"):
        other.append([message("two")], parent=0)
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    _until_free(lambda: other.append([message("two")], parent=0))
    assert said(open_log(address, exclusive=True)) == ["one", "two"]


def _until_free(work):
    """A server notices after a moment that a client is gone."""
    give_up_at = time.monotonic() + 10
    while True:
        try:
            return work()
        except LogError:
            if time.monotonic() > give_up_at:
                raise
            time.sleep(0.05)


def test_claim_is_also_against_others_in_the_same_process(address):
    """And it is given up by closing; who has it can append."""
    mine = open_log(address, exclusive=True)
    with pytest.raises(LogError, match=told(os.getpid())):
        open_log(address, exclusive=True)
    other = open_log(address)
    with pytest.raises(LogError, match=told(os.getpid())):
        other.append([message("two")], parent=0)
    append_each(mine, ["mine", "too"])
    mine.append([message("and"), message("these")], parent=2)
    mine.close()
    other.append([message("two")], parent=4)
    assert said(open_log(address, exclusive=True)) == ["one", "mine", "too", "and", "these", "two"]


def test_closed_log_claims_again_when_it_is_used_again(address):
    """Unless another has it by then."""
    mine = open_log(address, exclusive=True)
    mine.close()
    append_each(mine, ["two"])
    with pytest.raises(LogError, match="is open exclusively"):
        open_log(address, exclusive=True)
    mine.close()
    with_it = open_log(address, exclusive=True)
    with pytest.raises(LogError, match="is open exclusively"):
        mine.append([message("three")], parent=1)
    append_each(with_it, ["three"])


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_forked_child_has_no_claim(address):
    """The parent keeps it, whatever becomes of the child, which cannot append."""
    mine = open_log(address, exclusive=True)
    child = os.fork()
    if child == 0:
        try:
            mine.append([message("child")], parent=0)
            os._exit(1)
        except LogError as problem:
            os._exit(0 if re.search(told(os.getppid()), str(problem)) else 2)
        finally:
            os._exit(3)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    append_each(mine, ["two"])
    with pytest.raises(LogError, match="is open exclusively"):
        open_log(address, exclusive=True)


@pytest.mark.parametrize("kind", STORES)
def test_conversation_is_opened_exclusively(kind, tmp_path, request):
    """Also one that is not made yet; others of the store are free, and it can be deleted."""
    store = new_store(kind, tmp_path, request)
    with store.open("a", exclusive=True, format="openai_chat") as talk:
        with pytest.raises(LogError, match=told(os.getpid())):
            store.open("a", exclusive=True)
        with store.open("b", exclusive=True, format="openai_chat") as other:
            other.add({"role": "user", "content": "hi"})
        talk.add({"role": "user", "content": "hello"})
        with store.open("a") as reader:
            assert len(reader.messages) == 1
            with pytest.raises(LogError, match="is open exclusively"):
                reader.add({"role": "user", "content": "no"})
    assert store.names() == ("a", "b")
    store.delete("a", "b")
    assert not list(tmp_path.rglob("*.lock"))


# --- PostgreSQL


def test_claim_survives_a_restart_of_the_server():
    """Its writer takes it again with its next append; if another was quicker it is told so."""
    with running_postgres() as server:
        mine = PostgresLog(server.address, "chat", exclusive=True)
        append_each(mine, ["one"])
        server.stop("fast")
        server.start()
        append_each(mine, ["two"])
        with pytest.raises(LogError, match="is open exclusively"):
            PostgresLog(f"{server.address}&pool=9", "chat", exclusive=True)
        server.stop("fast")
        server.start()
        quicker = PostgresLog(f"{server.address}&pool=9", "chat", exclusive=True)
        with pytest.raises(LogError, match="is open exclusively"):
            mine.append([message("three")], parent=1)
        append_each(quicker, ["three"])
        assert said(mine) == ["one", "two", "three"]


def test_claims_of_a_process_take_one_connection(postgres, tmp_path):
    """However many conversations are open exclusively; the connection goes with the last of them."""
    logs = [PostgresLog(f"{postgres}&pool=3", f"{tmp_path}-{number}", exclusive=True) for number in range(30)]
    mine = "SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE %s"
    name = f"redline %:{os.getpid()}"
    with psycopg.connect(postgres) as connection:
        assert connection.execute(mine, (name,)).fetchone() == (1,)
        for log in logs:
            log.append([message("a")], parent=ROOT)
            log.close()
        give_up_at = time.monotonic() + 10
        while connection.execute(mine, (name,)).fetchone() != (0,):  # a server takes a moment to end one
            assert time.monotonic() < give_up_at
            connection.rollback()


def test_a_claim_that_is_left_when_the_process_ends_says_nothing(tmp_path):
    """Modules may be gone by then, as they are for what a library holds until the very end."""
    script = (
        "import sys, pathlib\n"
        "from redline.record import exclusive as claims\n"
        "claim = claims.FileClaim(pathlib.Path(sys.argv[1]), 'a log', is_wanted=True)\n"
        "claim.take()\n"
        "claims.contextlib = None\n"
        "del claim\n"
    )
    done = subprocess.run([sys.executable, "-c", script, str(tmp_path / "claim")], capture_output=True, text=True, check=True)
    assert done.stderr == ""
