"""The cluster as the engine uses it: the ports that adapters implement, retries, parallel requests, finalizers, the
order of kinds, guarded edits of a Kyma. No plans and no inventories.
"""
