"""A control plane and its runtimes as view models: runtime rows, groups, version counts, comparisons, campaigns."""
