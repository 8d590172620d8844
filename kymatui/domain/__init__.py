"""The Kyma domain as frozen data and pure functions; nothing but the standard library is imported here."""
