"""An OCI registry: distribution specification 1.1 over HTTP, in memory, on loopback only."""
