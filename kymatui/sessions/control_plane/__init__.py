"""A control plane and its runtimes: shared watches, clients out of access Secrets, the sessions with a fleet, with
one runtime, and with both.
"""
