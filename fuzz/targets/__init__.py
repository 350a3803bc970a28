"""Everything that takes input from others, by name."""

from fuzz.targets.conversations import CONVERSATIONS
from fuzz.targets.editors import EDITORS
from fuzz.targets.folded_stories import FOLDED_STORIES
from fuzz.targets.folds import FOLDS_OF_TEXTS
from fuzz.targets.inspector import INSPECTOR
from fuzz.targets.logs import DATABASES, LOGS
from fuzz.targets.message_lists import LISTS
from fuzz.targets.policies import POLICIES
from fuzz.targets.proxy import PROXY
from fuzz.targets.session_files import MENDING, READING
from fuzz.targets.stateful import STATEFUL
from fuzz.targets.target import Target
from fuzz.targets.texts import REFERENCES, TOKENS
from fuzz.targets.wire import WIRE

__all__ = ["TARGETS", "Target"]

TARGETS: dict[str, Target] = {
    target.name: target
    for target in (
        *(READING, MENDING, LOGS, DATABASES, POLICIES, REFERENCES, TOKENS, FOLDS_OF_TEXTS),
        *(LISTS, CONVERSATIONS, STATEFUL, FOLDED_STORIES, EDITORS, WIRE, PROXY, INSPECTOR),
    )
}
