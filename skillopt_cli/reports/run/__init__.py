"""`gate-report`: what each step proposed, what the gate said of it, and why."""
