"""`python -m redline` is the `redline` command. The answer to a hook loads no command line: an agent waits for it."""

import sys

match sys.argv[1:]:
    case ["hook", "run"]:
        from redline.hooks.answering import run

        run()
    case ["hook", "run", "--store", store]:
        from redline.hooks.answering import run

        run(store)
    case ["hook", "run", "--agent", agent]:
        from redline.hooks.answering import run

        run(agent=agent)
    case ["hook", "run", "--agent", agent, "--store", store]:
        from redline.hooks.answering import run

        run(store, agent)
    case _:
        from redline.cli import main

        main()
