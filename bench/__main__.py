"""Run every benchmark in turn."""

from bench import transcripts

transcripts.main()
