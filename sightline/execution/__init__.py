"""Running work: batches of decode, call, gate and cache on local processes."""
