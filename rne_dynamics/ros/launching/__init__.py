"""Launch files: arguments, plan, actions."""
