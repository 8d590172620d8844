"""Cluster controllers: namespaces, garbage collection, quotas, roles, services, APIServices."""
