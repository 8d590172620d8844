"""Control plane and runtimes as view models: rows, groups, versions, comparisons, campaigns."""
