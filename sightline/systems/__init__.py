"""Generators and retrievers: generate, retrieve, rerank, fuse, pool, rephrase, and suites of prompts."""
