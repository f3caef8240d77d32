"""Layer 4: references, control laws and the guards around them. No ROS, no clock, no state.

Every law is a frozen object with one pure method ``law(...)`` that returns its torque term by term; what a
loop must remember (the integral of the error, the time since a stop) is passed in by the caller.
"""
