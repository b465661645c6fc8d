"""Measures of an image as the answer to a prompt: does it show what was asked for?"""
