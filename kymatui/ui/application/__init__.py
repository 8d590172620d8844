"""The two applications, their screen registry and the global commands; no other folder imports them."""
