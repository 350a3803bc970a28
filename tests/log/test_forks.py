import gc
import os
import weakref

import pytest

from redline.log.forks import forget_after_fork


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
