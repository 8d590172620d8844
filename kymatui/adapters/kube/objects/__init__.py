"""Decoding of answers: resources and their paths, envelopes, list pages, memory limits."""
