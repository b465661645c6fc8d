"""Makers of prompts that test one skill, each with what must be seen in an obedient image."""
