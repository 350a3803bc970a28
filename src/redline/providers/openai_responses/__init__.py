"""OpenAI's Responses API: items and request bodies."""
