"""Run the benchmarks; recorded sessions have their own: `python -m bench.tokens`, `.replay`, `.cache_model`, `.breakpoints`.

The signs of the code itself are not among them: `python -m bench.house`.
"""

from bench import logs, opening, requests, schedule, transcripts

transcripts.main()
requests.main(())
schedule.main()
logs.main()
opening.main()
