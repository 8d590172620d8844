"""Requests to one API server: the connection pool, the read-only gate, streams, heartbeats, errors of answers."""
