"""People's judgement: rounds, tasks, screening, agreement, consensus; annotate and truth."""
