"""Which system is better: compare, trust, gate, queries."""
