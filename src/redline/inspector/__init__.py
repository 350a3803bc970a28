"""The web inspector: a local page over logs, transcripts and the proxy's sessions. It reads, and acts only where it is told to.

Read in this order: `serve` (starts it), `app` (the routes), `guard` (who may ask, and what a browser may do with the answer),
`served` (which sessions there are), `opened` (one of them, read and played back), the `…_answers` (what each route says),
`actions` (undo, pin, rollback, rewind), `events` (what grows is told at once). The page itself is in `page/`, a file a view.
"""

from redline.inspector.serve import serve
from redline.inspector.settings import InspectorSettings

__all__ = ["InspectorSettings", "serve"]
