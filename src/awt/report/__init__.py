"""What pages and pictures of every workflow are drawn with."""
