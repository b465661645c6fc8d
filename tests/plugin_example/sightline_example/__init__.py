"""Extensions for Sightline from another package."""
