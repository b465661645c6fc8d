"""Measures of all images of a system at once, most of them against a reference collection."""
