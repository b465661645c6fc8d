"""How much the images of one prompt vary: variability, calibrate, reuse, wording."""
