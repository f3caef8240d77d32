"""Commands that run or reach nodes of ROS 2."""
