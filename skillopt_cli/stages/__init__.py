"""Floor 2: one async function per file; values in, a value out."""
