"""Agents that are programs: requests pass a relay of ours, work stays in a workspace."""
