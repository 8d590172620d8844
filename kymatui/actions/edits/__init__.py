"""Edits of a Kyma and of single objects, and what an edit uninstalls. Installations are in `actions.modules`."""
