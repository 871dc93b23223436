"""Writes a trained skill over a user's own file or folder, with a backup and an undo."""
