"""Which skills a system has: tasks with a verdict."""
