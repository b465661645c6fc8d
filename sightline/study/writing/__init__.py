"""What goes into a study: records of an import with numbered undo, truth, references, copies."""
