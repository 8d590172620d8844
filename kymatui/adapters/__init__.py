"""The outside world: Kubernetes, OCI registries, files, the clock."""
