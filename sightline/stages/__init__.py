"""One file a verb, named as the verb: import_, check, select, generate, retrieve, annotate, truth, score, ..."""
