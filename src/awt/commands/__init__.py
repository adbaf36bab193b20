"""What a user types: the `awt` command, a module a subcommand."""
