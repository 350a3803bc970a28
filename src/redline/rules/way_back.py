"""Where a model finds the whole of a result that was struck: in a file, or by a tool that is answered for it."""

import msgspec


class WayBack(msgspec.Struct, frozen=True):
    """Of one conversation. With neither, placeholders say only how the result can be had anew."""

    tool: str = ""
    """The tool that reads back by reference, in the list of tools that the model was given."""
    folder: str = ""
    """The folder of text files that the agent can read, an absolute path."""


NO_WAY_BACK = WayBack()
