"""The soak at a small size: what is kept in memory, and what a turn stores, does not grow with the turns."""

import gc

from bench.soak import Agent, soak


def test_every_part_of_the_run_stores_as_much(tmp_path):
    """And the logs open from another process in the middle of it, with all that was acknowledged."""
    stretches = list(soak(tmp_path, turns=160, compact_at=30, look_every=20))
    assert sum(stretch.looks for stretch in stretches) > 2
    first, second = (sum(stretch.stored_bytes for stretch in half) for half in (stretches[:5], stretches[5:]))
    assert second < 1.5 * first
    assert max(stretch.memory_bytes for stretch in stretches) < 1.5 * stretches[4].memory_bytes


def test_memory_is_bounded_by_the_list_not_by_the_turns(tmp_path):
    """After many compactions there are hardly more objects than after a few."""
    agent = Agent(tmp_path, 20)

    def objects_after(turns: int) -> int:
        for _ in range(turns):
            agent.take_turn()
        while len(agent.messages) != _SHORTEST:  # right after a compaction, as each time
            agent.take_turn()
        gc.collect()
        return len(gc.get_objects())

    few, many = objects_after(30), objects_after(70)
    agent.close()
    assert many - few < 1_500


_SHORTEST = 7
"""Messages that a compaction leaves: a summary, and six."""
