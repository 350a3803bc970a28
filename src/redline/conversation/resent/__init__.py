"""Lists of messages that are sent again and again, each time with a little more: what was seen of them, and what was struck.

A message is known by what it says (incoming.py). The messages of a list, each with all before it, are the way to it through a
tree of records (tree.py): what was sent before is a way that is there already, what turns off from it is a branch.
"""
