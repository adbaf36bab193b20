"""What one step of training minimises: an objective a file, which attacks the batch and judges weights on it."""
