"""The session with one cluster, and single reads of it: an object, a namespace, lifecycle-manager's configuration.
No control plane with runtimes.
"""
