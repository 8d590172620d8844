"""Shared base of server, controllers and sample world: clock, store, requests, Status errors, client.

This folder knows no schema and no resource.
"""
