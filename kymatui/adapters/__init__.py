"""Adapters of the ports: Kubernetes, OCI registries, HTTP, files."""
