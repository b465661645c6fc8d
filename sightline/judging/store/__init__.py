"""The tables behind rounds of judging: items, tasks, answers, links."""
