"""Values that everything else speaks in: payloads, messages, which result answers which call, words."""
