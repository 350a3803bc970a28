"""The places at which requests broke the provider's prompt cache: found, named, priced, and told with what to set.

To follow a request: `pieces` (a body cut into pieces, each a digest), `earlier` (the requests before it), `diagnose` (the first
place that differs and its cause), `excerpts` (the words around it), `watch` (all of these in turn), `report` (added up).
"""
