"""Supervision of an active controller: its modes, stops and motions.

No ROS, no clock. Laws are pure; what has to be remembered between two states (the mode, the motion under way, the last
effort) is remembered here, in one object for each controller.
"""
