"""Frozen encoders of texts and images, their concatenation, and the bridge between two of them."""
