"""Messages of Vercel's AI SDK, as some agents store them."""
