"""Answers become objects: resources and their paths, envelopes, decoding, pages of lists, the memory that they may
use.
"""
