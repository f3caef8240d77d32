"""What the executor would serve is seen before it is asked, and nothing is taken by looking."""

from __future__ import annotations

import pytest
import rclpy
from rclpy.callback_groups import CallbackGroup
from rclpy.executors import SingleThreadedExecutor
from std_msgs.msg import Float64
from std_srvs.srv import Trigger

from rne_dynamics.ros.glance import Glance, TakenByHand
from rne_dynamics.ros.hot_loop import step
from rne_dynamics.ros.processes import wait_until


@pytest.fixture
def node(namespace):
    node = rclpy.create_node("glanced_at", namespace=namespace, start_parameter_services=False)
    yield node
    node.destroy_node()


def seen_then_served(node, heard):
    """Whether looking finds it, twice, and the executor then serves it."""
    executor, glance = SingleThreadedExecutor(), Glance(node)
    executor.add_node(node)
    wait_until(lambda: glance.anything(executor), 10.0, "something to do")
    assert glance.anything(executor)

    def served() -> bool:
        while step(executor):
            pass
        return bool(heard) and not glance.anything(executor)  # an answer may still be on its way

    wait_until(served, 10.0, "nothing left to do")
    executor.shutdown()


def test_a_message(node):
    heard: list[Float64] = []
    publisher = node.create_publisher(Float64, "number", 1)
    node.create_subscription(Float64, "number", heard.append, 1)
    publisher.publish(Float64())
    seen_then_served(node, heard)


def test_a_request_and_its_answer(node):
    heard: list[bool] = []

    def answer(request, response):
        heard.append(True)
        return response

    node.create_service(Trigger, "ask", answer)
    client = node.create_client(Trigger, "ask")
    assert client.wait_for_service(10.0)
    client.call_async(Trigger.Request())
    seen_then_served(node, heard)


def test_a_timer(node):
    heard: list[bool] = []

    def once():
        heard.append(True)
        timer.cancel()

    timer = node.create_timer(0.01, once)
    seen_then_served(node, heard)


def test_a_coroutine_under_way(node):
    executor, glance = SingleThreadedExecutor(), Glance(node)
    executor.add_node(node)
    assert not glance.anything(executor)
    executor.create_task(lambda: None)
    assert glance.anything(executor)
    executor.shutdown()


def test_what_is_taken_by_hand_is_left_alone(node):
    group: CallbackGroup = TakenByHand()
    publisher = node.create_publisher(Float64, "number", 1)
    mine = node.create_subscription(Float64, "number", lambda message: None, 1, callback_group=group)
    executor, glance = SingleThreadedExecutor(), Glance(node)
    executor.add_node(node)
    publisher.publish(Float64(data=3.0))
    assert not glance.anything(executor)
    wait_until(lambda: mine.handle.take_message(Float64, False) is not None, 10.0, "the message")
    executor.shutdown()
