import gc
import os
import sys
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor

import pytest

from redline.errors import LogError
from redline.record.backends.memory import MemoryLog
from redline.record.exclusive import Exclusive, forget_after_fork
from redline.record.log import ROOT
from redline.record.opening import open_log
from tests.record.logs import KINDS, message, new_address, said


class InterruptAt:
    """Raises KeyboardInterrupt just before the instruction of this number in Redline's logs: a Ctrl-C at that very moment."""

    def __init__(self, number):
        self.left, self.before = number, sys.gettrace()  # what `make coverage` traces with goes on afterwards

    def __enter__(self):
        sys.settrace(self._trace)

    def __exit__(self, *_):
        sys.settrace(self.before)

    def _trace(self, frame, event, _):
        if "/redline/record/" not in frame.f_code.co_filename:
            return None
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        if event == "opcode":
            self.left -= 1
            if self.left < 0:
                sys.settrace(None)
                raise KeyboardInterrupt
        return self._trace


def interrupted_everywhere(work, step=1):
    """Do the work again and again, interrupted at each instruction in turn, until it comes to its end; each time say so."""
    number = 0
    while True:
        interrupt = InterruptAt(number)
        try:
            with interrupt:
                work()
        except KeyboardInterrupt:
            pass
        yield number
        if interrupt.left >= 0:
            return
        number += step


def in_another_thread(work):
    """What the work gives there; a lock that this thread left behind would keep it out for ever."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(work).result(timeout=30)


def test_interrupt_leaves_no_lock_behind():
    """Whatever instruction a Ctrl-C comes at, the work was done wholly or not, and another thread gets in (R54)."""
    exclusive, is_busy, ends = Exclusive(), [], 0

    def begin():
        is_busy.append(True)

    for _ in interrupted_everywhere(lambda: exclusive.run(begin, is_busy.clear)):
        assert in_another_thread(lambda: exclusive.run(lambda: list(is_busy), lambda: None)) == []
        ends += 1
    assert ends > 20


@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("kind", ["memory", *KINDS])
def test_log_is_usable_after_an_interrupt_at_any_instruction_of_append(kind, count, tmp_path, request):
    """The append is there or not, whole; the log is unlocked, in no transaction, and every later append is kept (R54)."""
    address = None if kind == "memory" else new_address(kind, tmp_path, request)
    log = MemoryLog() if address is None else open_log(address, durability="os")
    other = log if address is None else open_log(address, durability="os")
    tried, kept, turn = [], [], 0

    def append():
        tried.append(f"turn {turn}")
        log.append([message(f"turn {turn}")] * count, parent=ROOT)

    for turn in interrupted_everywhere(append, step=17 if kind == "postgres" else 3):
        for use in (log, other):
            kept.append(f"{turn} on {len(kept)}")
            in_another_thread(lambda use=use: use.append([message(kept[-1])], parent=ROOT))
        if turn % 50 == 0:
            assert set(kept) <= set(said(log))
    read = said(log if address is None else open_log(address))
    assert [text for text in read if text in kept] == kept
    assert all(read.count(text) in (0, count) for text in tried)
    assert read.count(tried[-1]) == count
    assert turn > 20


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # a connection that nobody got to keep
@pytest.mark.parametrize("kind", KINDS)
def test_log_is_usable_after_an_interrupt_at_any_instruction_of_its_making(kind, tmp_path, request):
    """An interrupt while the first append makes the file or the tables leaves nothing that keeps the next one out (R54)."""
    turn = 0

    def address():
        folder = tmp_path / f"{turn}"
        folder.mkdir(exist_ok=True)
        return new_address(kind, folder, request)

    opened = []  # kept, since nothing that is raised while an object ends gets out

    def begin():
        opened.append(open_log(address(), durability="os"))
        opened[-1].append([message("a")] * 2, parent=ROOT)

    step = {"jsonl": 11, "sqlite": 67, "postgres": 151}[kind]
    for number in interrupted_everywhere(begin, step=step):
        log = open_log(address(), durability="os")
        in_another_thread(lambda log=log: log.append([message("b")], parent=ROOT))
        log.close()
        assert said(open_log(address()))[-1] == "b"
        turn = number + step


@pytest.mark.parametrize("kind", ["memory", *KINDS])
def test_threads_append_to_one_log(kind, tmp_path, request):
    """Of what several threads append to one object nothing is lost, doubled or mixed (R58)."""
    address = None if kind == "memory" else new_address(kind, tmp_path, request)
    log = MemoryLog() if address is None else open_log(address, durability="os")
    texts = [[f"{name}:{turn}" for turn in range(25)] for name in range(8)]
    start = threading.Barrier(len(texts))

    def append_all(own):
        start.wait()
        head = ROOT
        for text in own:
            head = log.append([message(text), message(text + "!")], parent=head)
            assert head >= 0

    with ThreadPoolExecutor(len(texts)) as pool:
        list(pool.map(append_all, texts))
    read = list((open_log(address) if address else log).read())
    assert [stored.number for stored in read] == list(range(2 * 8 * 25))
    found = said(log)
    for own in texts:
        assert [text for text in found if text.rstrip("!") in own] == [text + mark for text in own for mark in ("", "!")]
    assert all(stored.parent == stored.number - 1 for stored in read if stored.number % 2)


def test_use_from_within_is_an_error():
    """What a signal handler or a log handler does while the same thread is in would wait for itself for ever (R54)."""
    exclusive = Exclusive()

    def nothing():
        return None

    with pytest.raises(LogError, match="used by this very thread"):
        exclusive.run(lambda: exclusive.run(nothing, nothing), nothing)
    assert exclusive.run(lambda: 7, nothing) == 7


# --- forks


class Thing:
    is_forgotten = False

    def forget(self):
        self.is_forgotten = True


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_child_forgets_and_parent_does_not():
    """Only the child of a fork lets go."""
    thing = Thing()
    forget_after_fork(thing)
    child = os.fork()
    if child == 0:
        os._exit(0 if thing.is_forgotten else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert not thing.is_forgotten


def test_things_are_not_kept_alive():
    """Being told of forks does not make a log live longer."""
    thing = Thing()
    forget_after_fork(thing)
    gone = weakref.ref(thing)
    del thing
    gc.collect()
    assert gone() is None
