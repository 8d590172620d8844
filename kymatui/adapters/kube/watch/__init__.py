"""Watches and what they keep: stores, projections of fields, changes for the engine."""
