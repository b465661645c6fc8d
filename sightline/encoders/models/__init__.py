"""Encoders that turn texts or images into vectors, with pinned weights where they have any."""
