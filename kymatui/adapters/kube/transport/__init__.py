"""Requests to one API server: connection pool, read-only gate, streams, heartbeats, status errors."""
