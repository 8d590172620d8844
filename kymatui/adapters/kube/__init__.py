"""Access to Kubernetes API servers: configuration, requests, lists, watches, discovery, access reviews."""
