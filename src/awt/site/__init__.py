"""One index page over the experiments of a repository, with their own pages and run records beside it."""
