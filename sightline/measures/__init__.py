"""Measures: what a number says about a prompt, an image, an answer, a set of images or a ranking."""
