"""Commands that simulate, draw recordings and compare formulations, without ROS."""
