"""Reporting: plain data in; charts, tables and one self-contained HTML report out."""
