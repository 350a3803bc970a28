"""Run the benchmarks; those that need recorded sessions are apart: `python -m bench.tokens`, `.replay`, `.cache_model`."""

from bench import logs, requests, schedule, transcripts

transcripts.main()
requests.main(())
schedule.main()
logs.main()
