"""Running cells, on this process or on a Ray cluster, and keeping what they return; knows nothing of networks."""
