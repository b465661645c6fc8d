"""Layouts that can be imported: one file each, recognised by themselves."""
