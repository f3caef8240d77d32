"""What an active controller does from one joint state to the next: its states, its stops, its motions.

No ROS, no clock. Laws are pure; what has to be remembered between two states (the mode, the motion under way, the last
effort) is remembered here, in one object for each controller.
"""
