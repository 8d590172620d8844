"""Tables of `kubectl get`: columns of kinds and cells of objects (meta.k8s.io/v1 Table)."""
