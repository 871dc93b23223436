"""Parts of a run as short texts, the same in every display."""
