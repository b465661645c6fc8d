"""Rules that say which annotators' judgements do not count, and on which numbers."""
