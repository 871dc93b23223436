"""Reports: pages, tables and diffs about finished runs, for terminals, Markdown and browsers."""
