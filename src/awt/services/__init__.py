"""What drivers of every workflow ask for: cells described, run, and their files put together."""
