"""The cluster as the engine uses it: ports, retries, concurrency, finalizers, kinds, Kyma edits."""
