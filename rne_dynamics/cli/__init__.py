"""Layer 5: the `rne` command. Each subcommand is a module with EXAMPLES, configure(parser) and run(args)."""
