"""From numbers to text, table, chart, HTML, CSV and JSON: the look of every page."""
