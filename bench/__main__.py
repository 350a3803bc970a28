"""Run the benchmarks, but for those of recorded sessions: `python -m bench.tokens`, `.replay`, `.cache_model`, `.breakpoints`."""

from bench import logs, requests, transcripts

transcripts.main()
requests.main(())
logs.main()
