"""The functions that Helm gives to templates: Sprig 3.3.0 and its own, one module for each family."""
