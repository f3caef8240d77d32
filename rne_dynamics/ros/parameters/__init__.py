"""Parameters of the nodes: schema, declared table, files, aliases, and what each node's make."""
