"""What DrawBench and ImagenHub, which takes prompts from it, share."""

SKILLS = {
    "Colors": "compositional",
    "Conflicting": "unusual_arrangements",
    "Counting": "counting",
    "DALL-E": "complex",
    "Descriptions": "knowledge",
    "Gary Marcus et al.": "complex",
    "Misspellings": "typos",
    "Positional": "spatial",
    "Rare Words": "knowledge",
    "Reddit": "general",
    "Text": "text_rendering",
}
"""The skill that each category stands for."""
