"""Measures of all images one system gave one prompt: how much they vary, how they spread."""
