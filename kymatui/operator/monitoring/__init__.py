"""What the operator reports of itself: metrics with lifecycle-manager's names, health, and the log.

The HTTP server is in `adapters.http`; nothing here opens a port.
"""
