"""Edits of a Kyma, of many Kymas and of single objects, and what they uninstall. Installations are in `modules`."""
