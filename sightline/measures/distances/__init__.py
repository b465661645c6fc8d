"""Distances between the images of a set: a symmetric matrix with zeros on its diagonal."""
