"""Installations and upgrades: planning, applying, pruning, and the drift check."""
