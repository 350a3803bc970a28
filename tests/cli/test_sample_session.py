from redline import read_transcript
from redline.cli.demo import write_sample_session


def test_sample_is_a_session_that_crashed(tmp_path):
    """The sample is read as a Claude Code session whose last call has no result."""
    transcript = read_transcript(write_sample_session(tmp_path / "s.jsonl"))
    (recorded,) = transcript
    assert transcript.format == "claude-code"
    assert recorded.messages[-1].calls
