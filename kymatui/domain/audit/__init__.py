"""The audit of a cluster's modules: rules by subject, the report, and the ignore list."""
