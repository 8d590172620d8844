"""How the sample world comes about: clusters filled, situations told step by step, a fleet in bulk, files loaded."""
