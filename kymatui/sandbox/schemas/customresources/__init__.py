"""Rules of CustomResourceDefinitions and of the objects of custom kinds."""
