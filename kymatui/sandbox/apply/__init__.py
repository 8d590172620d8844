"""Who owns which field: server-side apply and managed fields, as structured-merge-diff has them."""
