"""A session of which it can be counted by hand what is struck and then used."""

from redline.values.messages import Text
from tests.sessions.replay.recorded import recorded, step

LINE = "the_answer = compute_everything(42)"
FILLER = "\n" + "word " * 60


def used_later(**settings):
    """Fifteen results, of which masking strikes the first five: a read, a command, a search and two more commands.

    The line of the read is said in the 16th request, which is a use by both measures; a name from the command is said in the
    17th, which only the strict one sees. What the search found is not used.
    """
    turns = [("user", (Text("go"),))]
    turns += step(0, "Read", {"file_path": "/p/a.py"}, LINE + FILLER)
    turns += step(1, "Bash", {"command": "make"}, "wrote build_id_77" + FILLER)
    turns += step(2, "Grep", {"pattern": "x"}, "found item_88" + FILLER)
    for number in range(3, 15):
        turns += step(number, "Bash", {"command": "make"}, "nothing new" + FILLER)
    turns += [("assistant", (Text(LINE),)), ("user", (Text("go on"),)), ("assistant", (Text("see build_id_77"),))]
    return recorded(turns, **settings)
