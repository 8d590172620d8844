"""The run of one operation: limits, progress, journal, lease, waits, hooks, object deletion."""
