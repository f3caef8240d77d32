"""Layer 5: the `rne` command. Each subcommand is a module with HELP, configure(parser) and run(args)."""
