"""An embedded Kubernetes API server with controllers, OCI registry and sample world, on loopback only."""
