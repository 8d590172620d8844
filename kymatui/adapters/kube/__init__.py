"""Access to Kubernetes API servers: kubeconfig, requests, lists, watches, discovery, access reviews."""
