"""UI connection to a cluster or fleet: threads, the mailbox and the latest view of each cluster."""
