"""Run the benchmarks; recorded sessions have their own: `python -m bench.tokens`, `.replay`, `.cache_model`, `.breakpoints`."""

from bench import logs, opening, requests, schedule, transcripts

transcripts.main()
requests.main(())
schedule.main()
logs.main()
opening.main()
