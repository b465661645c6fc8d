"""Verdicts, one file each or with their family: whether a demand of a prompt holds of an image."""
