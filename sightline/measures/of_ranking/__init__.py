"""Measures of ranked answers against known relevance: one value a query."""
