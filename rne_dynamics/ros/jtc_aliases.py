"""Parameters of ros2_controllers' joint_trajectory_controller, and their meaning for computed torque."""

from __future__ import annotations

from rne_dynamics.ros.parameter_aliases import ParameterAlias, only

_ANTI_WINDUP = "the integral stops where an effort is clamped, and at gains.<joint>.i_clamp"

#: Parameters not listed here have the same name there and here: joints, command_interfaces, gains.<joint>.p, i, d and
#: i_clamp, constraints.goal_time, constraints.<joint>.trajectory and goal, allow_nonzero_velocity_at_trajectory_end.
#: Their units are those of docs/parameters.md.
JTC: tuple[ParameterAlias, ...] = (
    # the same under another name
    ParameterAlias("constraints.stopped_velocity_tolerance", "constraints.stopped_velocity"),
    ParameterAlias("speed_scaling.initial_scaling_factor", "speed_scaling"),
    ParameterAlias("gains.{joint}.i_clamp_max", "gains.{joint}.i_clamp"),
    ParameterAlias("gains.{joint}.i_clamp_min", "gains.{joint}.i_clamp", negated=True),
    # their values make no difference, or a harmless one
    ParameterAlias("state_interfaces", does="it reads positions and velocities from joint_states"),
    ParameterAlias("allow_partial_joints_goal", does="a trajectory may always leave joints out, which are held"),
    ParameterAlias("interpolate_from_desired_state",
                   does="a trajectory blends from the reference in force, see constraints.blend_time"),
    ParameterAlias("open_loop_control",
                   does="a trajectory blends from the reference in force, see constraints.blend_time"),
    ParameterAlias("set_last_command_interface_value_as_state_on_activation",
                   does="the arm is held where it is measured, from the effort that it reports"),
    ParameterAlias("action_monitor_rate", does="feedback comes every 0.05 s"),
    ParameterAlias("state_publish_rate", does="torque_divisor sets how often ~/controller_state comes"),
    ParameterAlias("cmd_timeout", does="the arm is held at the end of a trajectory"),
    ParameterAlias("constraints.decelerate_on_cancel", does="it always decelerates, within stop.brake_time"),
    ParameterAlias("gains.{joint}.angle_wraparound",
                   does="joints that the description calls continuous take the nearest turn, no others"),
    ParameterAlias("gains.{joint}.antiwindup", does=_ANTI_WINDUP),
    ParameterAlias("gains.{joint}.antiwindup_strategy", does=_ANTI_WINDUP),
    ParameterAlias("gains.{joint}.tracking_time_constant", does=_ANTI_WINDUP),
    # only one of their values is supported
    ParameterAlias("command_joints", accepts=lambda value: not len(value),
                   does="it commands the joints of the parameter joints, in their order"),
    ParameterAlias("update_rate", accepts=only(0), does="give the parameter rate; 0 answers every joint state"),
    ParameterAlias("start_with_holding", accepts=only(True), does="the arm is held after a start"),
    ParameterAlias("allow_integration_in_goal_trajectories", accepts=only(False), does="every point needs positions"),
    ParameterAlias("interpolation_method", accepts=only("splines"), does="points are joined by splines"),
    ParameterAlias("speed_scaling.state_interface", accepts=only(""), does="the topic ~/speed_scaling sets the speed"),
    ParameterAlias("speed_scaling.command_interface", accepts=only(""),
                   does="the topic ~/speed_scaling sets the speed"),
    ParameterAlias("constraints.{joint}.max_deceleration_on_cancel", accepts=only(0.0),
                   does="stop.brake_time sets how fast all joints come to rest"),
    ParameterAlias("gains.{joint}.ff_velocity_scale", accepts=only(0.0), does="the model computes the feedforward"),
    ParameterAlias("gains.{joint}.u_clamp_max", accepts=only(float("inf")),
                   does="limits.<joint>.effort limits the whole effort, both ways"),
    ParameterAlias("gains.{joint}.u_clamp_min", accepts=only(float("-inf")),
                   does="limits.<joint>.effort limits the whole effort, both ways"),
    ParameterAlias("gains.{joint}.error_deadband", accepts=only(0.0),
                   does="every error is integrated, where gains.<joint>.i is not 0"),
)
