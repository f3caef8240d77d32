"""The services that set parameters, for nodes that no request may end."""

from __future__ import annotations

from collections.abc import Sequence

from rcl_interfaces.msg import Parameter as ParameterMessage
from rcl_interfaces.msg import SetParametersResult
from rcl_interfaces.srv import SetParameters, SetParametersAtomically
from rclpy.node import Node
from rclpy.parameter import Parameter

from rne_dynamics.ros.parameters.files import refuse_undeclared


def make_strict(node: Node) -> None:
    """Let the parameter services of a node refuse types that do not exist; rclpy's own would end the node."""

    def set_each(request: SetParameters.Request, response: SetParameters.Response) -> SetParameters.Response:
        response.results = [change(node, [parameter]) for parameter in request.parameters]
        return response

    def set_all(
        request: SetParametersAtomically.Request, response: SetParametersAtomically.Response
    ) -> SetParametersAtomically.Response:
        response.result = change(node, request.parameters)
        return response

    for service in node.services:
        if service.srv_type is SetParameters:
            service.callback = set_each
        elif service.srv_type is SetParametersAtomically:
            service.callback = set_all


def change(node: Node, parameters: Sequence[ParameterMessage]) -> SetParametersResult:
    """Set all of `parameters` or none."""
    if unknown := refuse_undeclared(node, [parameter.name for parameter in parameters]):
        return SetParametersResult(successful=False, reason=unknown)
    try:
        result: SetParametersResult = node.set_parameters_atomically(
            [Parameter.from_parameter_msg(parameter) for parameter in parameters]
        )
    except ValueError as error:
        return SetParametersResult(successful=False, reason=str(error))
    return result
