"""Modal screens that return an answer: choice, confirmation, form, menu, plan. The caller acts on it."""
