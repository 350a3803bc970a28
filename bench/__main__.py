"""Run the benchmarks; on recorded sessions: `python -m bench.replay`, `.reuse`, `.tokens`, `.cache_model`, `.breakpoints`.

The proxy wants a quiet machine: `python -m bench.proxy`, `.stores`. The signs of the code itself: `python -m bench.house`.
"""

from bench import editor, logs, opening, requests, schedule, transcripts

transcripts.main()
requests.main(())
editor.main()
schedule.main()
logs.main()
opening.main()
