"""A place with many conversations: listed, searched, added up, opened, and deleted so that nothing of them is left."""

from redline.store.search import SearchResult
from redline.store.store import Store
from redline.store.stored import StoredConversation, StoreStatistics

__all__ = ["SearchResult", "Store", "StoreStatistics", "StoredConversation"]
