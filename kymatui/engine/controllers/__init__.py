"""Controllers: they reconcile resources until these no longer exist."""
