"""`diff-skills`: how one skill text differs from another, and which step made each change."""
