"""The soak at a small size: what is kept in memory, and what a turn stores, does not grow with the turns."""

import gc
import tracemalloc

from bench.soak import Agent, soak


def test_every_part_of_the_run_stores_as_much(tmp_path):
    """And the logs open from another process in the middle of it, with all that was acknowledged."""
    stretches = list(soak(tmp_path, turns=240, compact_at=40, look_every=30))
    assert sum(stretch.looks for stretch in stretches) > 2
    first, second = (sum(stretch.stored_bytes for stretch in half) for half in (stretches[:5], stretches[5:]))
    assert second < 1.5 * first
    assert max(stretch.memory_bytes for stretch in stretches) < 1.5 * stretches[4].memory_bytes


def test_memory_is_bounded_by_the_list_not_by_the_turns(tmp_path):
    """Objects that are kept after ten compactions are hardly more than after five."""
    agent = Agent(tmp_path, 30)

    def kept_after(turns: int) -> int:
        for _ in range(turns):
            agent.take_turn()
        while len(agent.messages) > 8:  # right after a compaction, as each time
            agent.take_turn()
        gc.collect()
        return tracemalloc.get_traced_memory()[0]

    kept_after(15)
    tracemalloc.start()
    try:
        start, first = kept_after(1), kept_after(90)
        second = kept_after(90)
    finally:
        tracemalloc.stop()
    agent.close()
    assert second - first < 0.75 * 1_000_000
    assert second - first < 1.5 * max(first - start, 400_000)
