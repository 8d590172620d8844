"""Logs of containers on a screen: threads to a bounded store, window over it, drawing; parsing is in domain/logs."""
