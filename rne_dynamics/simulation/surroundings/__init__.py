"""What an arm meets: springy bodies, and a script of what happens."""
