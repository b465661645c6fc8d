"""The page that shows it all, and the status of a study."""
