"""In and out: sources, importers, exporters and checks; the verbs import, undo, export and check."""
