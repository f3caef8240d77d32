"""Layer 4: an arm as a plant: integration in time, friction that sticks, stops, logs. No ROS."""
