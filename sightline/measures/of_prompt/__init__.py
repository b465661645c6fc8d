"""Measures of a prompt alone: one value per prompt, before any image exists."""
