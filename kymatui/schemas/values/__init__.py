"""Single values of the API: names, quantities, times, formats, field errors, field sets."""
