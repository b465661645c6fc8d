"""Running work over a study: batches of decode, call, validate and cache on local processes."""
