"""The Kyma domain: frozen data and pure functions that import only the standard library."""
