"""Controllers of the cluster itself: namespaces, garbage collection, quotas, roles, services, APIServices."""
