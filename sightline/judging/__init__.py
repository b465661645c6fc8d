"""People's judgement: how votes on images add up to systems and prompts, and how far people agree."""
