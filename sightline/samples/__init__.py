"""The built-in sample study: scenes drawn by systems of known skill, so that truth is known."""
