"""Where attempts touch files and start processes. Imports: core, ports."""
