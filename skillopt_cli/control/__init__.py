"""Control of a running training from other processes: commands, socket server, client."""
