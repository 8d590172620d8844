"""The use cases, one verb a file, the same for both front ends."""
