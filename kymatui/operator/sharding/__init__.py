"""Shards: replicas share the objects of a control plane by Leases, and no object has two replicas at a time.

What a shard's objects need is done by the controllers; how they are started is in `runtime`. docs/decisions has the
reasons.
"""
