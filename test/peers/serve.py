"""serve.py: a ROS node with services and an action of test_msgs, for clients that do not know these types.

  /echo       srv/BasicTypes       answers with the values of the request
  /arrays     srv/Arrays           the same with sequences, strings and nested messages
  /empty      srv/Empty
  /pair       srv/BasicTypes       as /echo, but nobody is answered before there are two requests
  /metadata   srv/BasicTypes       as /echo, but its events have no contents
  /silent     srv/BasicTypes       never answers
  /fibonacci  action/Fibonacci     feeds back and succeeds with the sequence of that order; negative orders are refused,
                                   from 1000 on it runs until it is canceled
  /recorded/_action/send_goal      the goal service of such an action, alone, accepting everything

The events of /echo and of the last one are published with contents. Every request, goal and cancellation is
one JSON line on standard output: name, type, data (base64 of the serialized request). The first line is "ready"; it
ends when its standard input does.
"""

import base64
import json
import sys
import threading

import rclpy
from rclpy.action import ActionServer, CancelResponse, GoalResponse
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.executors import ExternalShutdownException, MultiThreadedExecutor
from rclpy.qos import qos_profile_system_default
from rclpy.serialization import serialize_message
from rclpy.service_introspection import ServiceIntrospectionState
from rclpy.signals import SignalHandlerOptions
from test_msgs.action import Fibonacci
from test_msgs.srv import Arrays, BasicTypes, Empty

ENDLESS = 1000
TELLING = threading.Lock()


def tell(name, message):
    kind = type(message)
    note = {"name": name, "type": kind.__name__, "data": base64.b64encode(serialize_message(message)).decode()}
    with TELLING:  # requests come on many threads
        print(json.dumps(note), flush=True)


def copy(request, response):
    for name in response.get_fields_and_field_types():
        setattr(response, name, getattr(request, name))
    return response


def main():
    rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
    node = rclpy.create_node("serve", enable_rosout=False, start_parameter_services=False)
    group = ReentrantCallbackGroup()
    pair, never = threading.Barrier(2), threading.Event()

    def serve(name, kind, before=lambda: None):
        def answer(request, response):
            tell(name, request)
            before()
            return copy(request, response)

        return node.create_service(kind, name, answer, callback_group=group)

    def accept(request, response):
        tell("/recorded", request)
        response.accepted = True
        return response

    goals = node.create_service(Fibonacci.Impl.SendGoalService, "/recorded/_action/send_goal", accept, callback_group=group)
    for service, detail in (
        (serve("/echo", BasicTypes), ServiceIntrospectionState.CONTENTS),
        (serve("/metadata", BasicTypes), ServiceIntrospectionState.METADATA),
        (goals, ServiceIntrospectionState.CONTENTS),
    ):
        service.configure_introspection(node.get_clock(), qos_profile_system_default, detail)
    serve("/arrays", Arrays)
    serve("/empty", Empty)
    serve("/pair", BasicTypes, pair.wait)
    serve("/silent", BasicTypes, never.wait)

    def decide(goal):
        tell("/fibonacci/goal", goal)
        return GoalResponse.REJECT if goal.order < 0 else GoalResponse.ACCEPT

    def cancel(handle):
        tell("/fibonacci/cancel", handle.request)
        return CancelResponse.ACCEPT

    def execute(handle):
        order = handle.request.order
        sequence = [0, 1]
        if order >= ENDLESS:
            while not handle.is_cancel_requested:
                never.wait(0.01)
            handle.canceled()
            return Fibonacci.Result(sequence=sequence)
        for _ in range(order - 1):
            sequence.append(sequence[-1] + sequence[-2])
            handle.publish_feedback(Fibonacci.Feedback(sequence=sequence))
        handle.succeed()
        return Fibonacci.Result(sequence=sequence)

    action = ActionServer(
        node, Fibonacci, "/fibonacci", execute, callback_group=group, goal_callback=decide, cancel_callback=cancel
    )

    executor = MultiThreadedExecutor(num_threads=6)
    executor.add_node(node)

    def spin():
        try:
            executor.spin()
        except ExternalShutdownException:
            pass

    thread = threading.Thread(target=spin)
    thread.start()
    print("ready", flush=True)
    sys.stdin.read()
    never.set()
    pair.abort()
    executor.shutdown()
    thread.join()
    action.destroy()
    node.destroy_node()
    rclpy.try_shutdown()


if __name__ == "__main__":
    main()
