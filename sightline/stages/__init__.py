"""One file a verb, named as the verb: import_, check, truth, score, variability, predict, compare, report."""
