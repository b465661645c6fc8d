"""Measures of an image alone: one value per image, whoever made it and for whatever prompt."""
