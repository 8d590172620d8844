"""The link of the UI to one cluster or a fleet: threads, the mailbox to the event loop, and the latest view of each
cluster.
"""
