"""Other people's agents, a file or a folder each: how their sessions are read and repaired, and how they are started.

The way of a record from the disk to a message, in the order to read these files:

    transcripts          what comes out: a transcript of conversations of entries, each of which decodes its message
                         when it is asked for
    transcripts.source   opens the file and indexes its lines by offset; `document` and `foreign_database` do so
                         for a file that is one JSON value, and for a SQLite file
    transcripts.detect   takes a sample of the beginning, by which readers recognise their own files
    claude_code          and its neighbours: decode the head of each record (`document.head_decoder`, `heads`), find
                         out which records are the conversation, and make entries of them
    registry             the table of all agents
    readers              finds the reader of a file; `menders` the mender, and proves its work

`mending` holds what menders share, `launching` how an agent is started through the proxy.
"""
