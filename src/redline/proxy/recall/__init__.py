"""Recall behind the proxy: the model's calls of Redline's own tool are answered here, and no client sees them."""
