"""The web inspector: a local page over logs, transcripts and the proxy's sessions. It reads, and acts only where it is told to.

Read in this order: `app` (the routes, and the server), `guard` (who may ask, and what a browser may do with the answer),
`session_registry` (which sessions there are; what grows is told at once), `opened` (one of them, read and played back), the
`…_answers` (what each route says, and what can be done to a log). The page itself is in `page/`, a file a view.
"""

from redline.inspector.app import serve
from redline.inspector.guard import InspectorSettings

__all__ = ["InspectorSettings", "serve"]
