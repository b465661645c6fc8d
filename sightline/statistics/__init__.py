"""Pure functions on numpy arrays: no files, no database, nothing of the house but this room."""
