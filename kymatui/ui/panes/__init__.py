"""One module a tab of the module's screen."""
