"""Lines that each name the one before."""

import json

from redline.mending.chain import Chain
from redline.mending.edits import apply
from redline.mending.line_edits import LineEdits
from redline.transcripts.source import Source, decode_line, index_lines
from tests.mending.sessions import records_of, write


def test_lines_name_the_one_before_and_nothing_else_changes(tmp_path):
    """The first names whom it named, a line that is right already is not touched, and one that is added is named too."""
    records = [{"uuid": "a", "parentUuid": "x"}, {"uuid": "b", "parentUuid": "a"}, {"uuid": None, "n": 1.50}]
    source = Source(write(tmp_path, records))
    first, second, third = (position for position, _ in index_lines(source, decode_line).records)
    chain, edits = Chain(), LineEdits(source)
    chain.take(first, "a")
    chain.take(second, "b")
    assert chain.add("new") == "b"
    chain.take(third, "own")
    chain.write(edits)
    after = apply(edits.splices(), source.path.read_bytes())
    assert [fix.line for fix in edits.fixes] == [3]
    assert records_of(after)[2] == {"uuid": "own", "n": 1.5, "parentUuid": "new"}
    assert after.startswith(json.dumps(records[0]).encode())
