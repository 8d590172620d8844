"""Logs of containers: what to request, lines, bounded storage, order; no Pods of a server and no threads."""
