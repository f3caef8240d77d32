"""Messages read and written: joint states, setpoints, efforts, trajectories, recordings."""
