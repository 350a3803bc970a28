"""Anthropic's Messages API: messages, request bodies, cache marks, context editing."""
