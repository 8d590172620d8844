"""Kymas and mandatory modules: which Manifests they have, and what their status says on both clusters."""
