"""Measures of all images that one system returned for one prompt."""
