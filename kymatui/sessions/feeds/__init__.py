"""The watches below a session: which kinds are followed, how long, and how their objects are read. Nothing here
knows which cluster it is.
"""
