from bench.stores import run
from tests.postgres import running_postgres


def test_processes_survive_a_restart_of_the_server():
    """Two processes with 20 conversations each: nothing is lost, doubled or refused, on at most ten connections each."""
    with running_postgres() as server:
        done = run(server, 2, 20, 5, is_restarted=True)
    assert (done.acknowledged, done.errors, done.lost, done.doubled) == (200, (), (), ())
    assert 2 <= done.most_connections <= 20
