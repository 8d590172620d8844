"""An embedded Kubernetes API server with controllers, an OCI registry and a sample world, on loopback only."""
