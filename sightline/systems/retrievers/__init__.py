"""Systems that answer prompts with images of a collection."""
