"""Parts of every node: life cycle, entities, process, scheduling, command line, diagnostics."""
