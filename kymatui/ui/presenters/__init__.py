"""From domain values to words, cells and tones; no widget is known here, so all of it is tested without an app."""
