"""Predictors: learn a truth from what is known beforehand, and guess it for new prompts."""
