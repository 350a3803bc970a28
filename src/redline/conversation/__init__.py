"""Conversations, editors of resent lists, and functions on plain lists."""
