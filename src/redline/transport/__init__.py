"""Requests edited on their way to the provider: the HTTP transport of the SDKs."""
