"""POST, PUT, PATCH and DELETE: admission, quotas, rules of single kinds, CRDs, subresources."""
