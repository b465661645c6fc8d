"""Systems that make images from prompts."""
