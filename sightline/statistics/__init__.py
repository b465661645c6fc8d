"""Pure functions on numpy arrays: no files, no database, and no other package of Sightline."""
