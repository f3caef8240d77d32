"""The control loop of a controller, in a process of its own."""
