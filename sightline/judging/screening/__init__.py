"""Rules that say which annotators' votes do not count, and on which numbers."""
