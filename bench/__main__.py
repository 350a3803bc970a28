"""Run the benchmarks; recorded sessions have their own: `python -m bench.tokens`, `.replay`, `.cache_model`, `.breakpoints`.

Nor are the proxy, which wants a quiet machine (`python -m bench.proxy`), and the signs of the code itself (`python -m bench.house`).
"""

from bench import editor, logs, opening, requests, schedule, transcripts

transcripts.main()
requests.main(())
editor.main()
schedule.main()
logs.main()
opening.main()
