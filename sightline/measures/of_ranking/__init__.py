"""Measures of ranked answers: one value per ranking."""
