"""Field ownership: server-side apply and managed fields, as in structured-merge-diff."""
