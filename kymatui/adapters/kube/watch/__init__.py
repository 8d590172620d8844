"""Watches: stores, projections of fields, change notifications for the engine."""
