"""Template functions with secrets, certificates, hashes and random numbers."""
