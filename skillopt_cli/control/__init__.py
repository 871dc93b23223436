"""Floor 2: how a run at work is spoken to from other processes: commands, socket, client."""
