"""A study on a disk or in PostgreSQL: tables, files, vectors, reading them, and running work over them."""
