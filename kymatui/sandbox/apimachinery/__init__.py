"""What server, controllers and sample world share: clock, store, requests, Status errors, the in-process client.
Knows no schema and no resource.
"""
