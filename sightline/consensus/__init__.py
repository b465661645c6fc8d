"""Rules that settle the votes on an item into one value."""
