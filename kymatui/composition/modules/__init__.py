"""What fetches the sources of modules, and whose signature of them is asked for."""
