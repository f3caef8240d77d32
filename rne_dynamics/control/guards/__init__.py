"""What stands between a control law and the arm: guards of what comes in and of what goes out."""
