"""What is in an image: detectors of objects, classes and text."""
