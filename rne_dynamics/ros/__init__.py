"""ROS 2 nodes. The only room that imports rclpy."""
