"""The explorer: every answer and image of a study, filtered, sorted and paged, and what is done with them."""
