"""The tables of a study, on SQLite and on PostgreSQL, and how an older database is brought up to date."""
