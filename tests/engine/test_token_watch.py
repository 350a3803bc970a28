from redline.engine.compaction import TokenWatch


def test_one_event_for_each_crossing():
    """The callbacks are told once when the limit is passed, and again after it was kept."""
    watch, told = TokenWatch(100), []
    watch.on_limit(lambda used, limit: told.append((used, limit)))
    for used in (100, 120, 130, 90, 101):
        assert watch.check(used) == used
    assert told == [(120, 100), (101, 100)]


def test_a_compressed_history_may_pass_the_limit_again():
    """After a compression a limit that is passed counts as passed anew."""
    watch, told = TokenWatch(100), []
    watch.on_limit(lambda used, _: told.append(used))
    watch.check(120)
    watch.restart()
    watch.check(110)
    assert told == [120, 110]


def test_without_a_limit_nobody_is_told():
    """What is used is given back all the same."""
    assert TokenWatch(None).check(10**9) == 10**9
