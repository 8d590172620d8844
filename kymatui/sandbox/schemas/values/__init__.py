"""Single values as the API server reads and refuses them: names, quantities, times, formats, field errors, field
sets.
"""
