"""Layer 5: a robot in the browser, by viser: simulated, replayed or live. No ROS."""
