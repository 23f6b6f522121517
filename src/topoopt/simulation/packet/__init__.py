"""The packet level: every packet through every queue."""
