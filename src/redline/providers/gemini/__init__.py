"""Google's Gemini API: contents and request bodies."""
