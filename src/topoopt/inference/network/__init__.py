"""What a deployment sends between servers, where it goes, and what that takes on a network."""
