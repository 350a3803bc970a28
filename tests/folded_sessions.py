"""A conversation of which results are folded, referred and struck, for every surface that shows it."""

import redline
from redline.rules import Folded
from redline.rules.masked_results import MaskedResults
from redline.testing import asks, conversation, says

NOW = 1_770_000_000_000.0
MODEL = "claude-sonnet-4-5"
RULES = [Folded(), MaskedResults(keep_recent=4)]
PROGRESS = "Compiling the parser of dates and its tests\n" * 40 + "Finished."
LISTING = "\n".join(f"src/dates/part_{number}.py: def parse_{number}(text, zone)" for number in range(30))
AGAIN = f"On branch main\n{LISTING}\nnothing to commit"

TURNS = (
    ("Bash", {"command": "make"}, PROGRESS),
    ("Bash", {"command": "grep -rn parse src"}, LISTING),
    ("Bash", {"command": "git status"}, AGAIN),
    *(("Read", {"file_path": f"/srv/{number}.py"}, f"value_{number} = 1\n" * 30) for number in range(6)),
)


def folded_log(address, *, turns=9):
    """A stored conversation: its builds are folded, a listing is referred to; older results are struck later on."""
    with redline.open(address, policy=redline.Policy(rules=RULES, schedule="eager", words="en"), model=MODEL) as talk:
        for number, (tool, arguments, output) in enumerate(TURNS[:turns]):
            time_ms = NOW + number * 60_000
            call = asks(tool, arguments, output, id=f"c{number}")
            for message in conversation("anthropic", [says("user", f"step {number}"), *call]):
                talk.add(message, timestamp_ms=time_ms)
            talk.request(now=time_ms)
            talk.record_usage(input_tokens=2000 * (number + 1), output_tokens=20, cache_read_tokens=1500 * number)
        talk.add(conversation("anthropic", [says("assistant", "All is done.")])[0], timestamp_ms=NOW + turns * 60_000)
    return address
