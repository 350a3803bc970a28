"""OpenAI's Chat Completions API: messages and request bodies."""
