"""How a page of judging looks: layout, questions, keys and instructions, as data."""
