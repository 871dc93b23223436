"""Executors: run programs of attempts in folders of their own, with or without isolation."""
