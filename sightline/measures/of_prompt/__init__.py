"""Measures of a prompt alone: one value a prompt, before any image exists."""
