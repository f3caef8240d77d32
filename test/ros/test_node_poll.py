"""A poll finds what the executor would serve, and takes nothing."""

from __future__ import annotations

import pytest
import rclpy
from rclpy.task import Future
from std_msgs.msg import Float64
from std_srvs.srv import Trigger

from rne_dynamics.ros.loop.hot_loop import NodeExecutor
from rne_dynamics.ros.messages.topic_wait import polled_subscription, take
from rne_dynamics.ros.sessions.processes import wait_until

from .peer import PATIENCE


@pytest.fixture
def node(namespace):
    node = rclpy.create_node("polled", namespace=namespace, start_parameter_services=False)
    yield node
    node.destroy_node()


def found_then_served(node, received):
    """Two polls find it, and the executor then serves it."""
    executor = NodeExecutor()
    executor.add_node(node)
    wait_until(executor.ready, PATIENCE, "something to do")
    assert executor.ready()

    def served() -> bool:
        while executor.step():
            pass
        return bool(received) and not executor.ready()  # an answer may still be on its way

    wait_until(served, PATIENCE, "nothing left to do")
    executor.shutdown()


def test_a_message(node):
    received: list[Float64] = []
    publisher = node.create_publisher(Float64, "number", 1)
    node.create_subscription(Float64, "number", received.append, 1)
    publisher.publish(Float64())
    found_then_served(node, received)


def test_a_request_and_its_answer(node):
    received: list[bool] = []

    def answer(request, response):
        received.append(True)
        return response

    node.create_service(Trigger, "ask", answer)
    client = node.create_client(Trigger, "ask")
    assert client.wait_for_service(10.0)
    client.call_async(Trigger.Request())
    found_then_served(node, received)


def test_a_timer(node):
    received: list[bool] = []

    def once():
        received.append(True)
        timer.cancel()

    timer = node.create_timer(0.01, once)
    found_then_served(node, received)


def test_a_task(node):
    executor = NodeExecutor()
    executor.add_node(node)
    assert not executor.ready()
    executor.create_task(lambda: None)
    assert executor.ready()
    assert executor.step()
    assert not executor.ready()
    executor.create_task(lambda: None).cancel()
    assert not executor.ready()
    executor.shutdown()


def test_a_coroutine_under_way(node):
    executor, ended = NodeExecutor(), Future()
    executor.add_node(node)

    async def wait_for_the_end(message):
        await ended

    publisher = node.create_publisher(Float64, "number", 1)
    node.create_subscription(Float64, "number", wait_for_the_end, 1)
    publisher.publish(Float64())
    wait_until(executor.ready, PATIENCE, "the message")
    for _ in range(5):
        executor.step()
        assert executor.ready()
    ended.set_result(None)
    executor.create_task(lambda: None)  # a release in which the future resumes the coroutine needs no turn for it
    wait_until(lambda: not executor.step() and not executor.ready(), PATIENCE, "the end of the coroutine")
    executor.shutdown()


def test_what_is_taken_by_hand_is_left_alone(node):
    publisher = node.create_publisher(Float64, "number", 1)
    mine = polled_subscription(node, Float64, "number", 1)
    executor = NodeExecutor()
    executor.add_node(node)
    publisher.publish(Float64(data=3.0))
    assert not executor.ready()
    wait_until(lambda: take(mine, Float64) is not None, PATIENCE, "the message")
    executor.shutdown()
