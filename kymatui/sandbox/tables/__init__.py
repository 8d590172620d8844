"""What `kubectl get` shows: the columns of a kind and the cells of an object (meta.k8s.io/v1 Table)."""
