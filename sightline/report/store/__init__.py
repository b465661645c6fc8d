"""What the report's features ask the database."""
