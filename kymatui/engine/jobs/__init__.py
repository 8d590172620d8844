"""One run on a cluster: limits, progress, journal, lease, waits, chart hooks, the guarded deletion of one object."""
