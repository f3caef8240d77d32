"""Guards between control laws and the arm: checks of joint states, limits of efforts."""
