"""The services that set parameters, for nodes that must not end because of what somebody asks of them."""

from __future__ import annotations

from collections.abc import Sequence

from rcl_interfaces.msg import Parameter as ParameterMessage
from rcl_interfaces.msg import SetParametersResult
from rcl_interfaces.srv import SetParameters, SetParametersAtomically
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.parameter_service import ParameterService

from rne_dynamics.ros.unknown_parameters import refuse_undeclared


class StrictParameterService(ParameterService):  # type: ignore[misc]  # rclpy may be absent where types are checked
    """As rclpy's, whose own end the node with an exception where a request names a type that does not exist.

    Make it for a node that was made with ``start_parameter_services=False``, and keep it.
    """

    def _set_parameters_callback(
        self, request: SetParameters.Request, response: SetParameters.Response
    ) -> SetParameters.Response:
        response.results = [change(self._get_node(), [parameter]) for parameter in request.parameters]
        return response

    def _set_parameters_atomically_callback(
        self, request: SetParametersAtomically.Request, response: SetParametersAtomically.Response
    ) -> SetParametersAtomically.Response:
        response.result = change(self._get_node(), request.parameters)
        return response


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
