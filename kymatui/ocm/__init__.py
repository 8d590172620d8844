"""Open Component Model: descriptors, normalisation, signatures. Pure, and usable on its own."""
