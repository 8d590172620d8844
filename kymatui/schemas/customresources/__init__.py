"""Validation of CRDs and custom resources."""
