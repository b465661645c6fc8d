"""Detectors, one file each or with their family."""
