"""Select prompts by tag, diversity or difficulty."""
