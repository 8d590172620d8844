"""POST, PUT, PATCH and DELETE: admission, quotas, rules of kinds, CRDs, subresources."""
