"""What a trained network is worth: accuracy on natural and on attacked test points."""
