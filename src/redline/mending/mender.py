"""What a mender of one agent's session files offers."""

from collections.abc import Sequence
from typing import ClassVar, NamedTuple, Protocol

from redline.mending.edits import Edits
from redline.repair import Strategy
from redline.transcripts import Reader, RecordedConversation
from redline.transcripts.source import Source
from redline.values.messages import Message

__all__ = ["MendedConversation", "Mender"]


class MendedConversation(NamedTuple):
    """What happens to the file for one conversation, and what that must come to."""

    edits: Edits
    messages: Sequence[Message]
    """What its last window says when the file is read again."""


class Mender(Protocol):
    """Repairs the session files of one agent, in the agent's own format."""

    formats: ClassVar[tuple[str, ...]]
    """The formats of transcripts that it mends."""
    name: ClassVar[str]
    """Whose files these are, in words."""
    reader: ClassVar[Reader]

    def mend(self, source: Source, conversation: RecordedConversation, strategy: Strategy) -> MendedConversation:
        """What must change in the file so that the conversation can go on. Nothing is written."""
        ...
