"""Pictures and reports: the style of all plots, drawings of robots, moving pictures, HTML pages."""
