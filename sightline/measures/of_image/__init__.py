"""Measures of an image alone: one value an image, whoever made it and for whatever prompt."""
