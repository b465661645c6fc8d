"""Words of a text and what is known of them: tokens, features of prompts, and WordNet."""
