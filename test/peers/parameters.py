"""The node of control.py with a client of rclpy for the parameters of another node.

Further commands, by "op"; a value is [TYPE, VALUE] with rclpy's name of the type ("DOUBLE"), and numbers that JSON has
no word for are written as text:
  parameters  node, timeout              waits until the services of this node are there; the commands below mean it
  get         names                      the values
  types       names                      the names of the types
  describe    names                      the descriptors
  list        prefixes, depth            {names, prefixes}
  set         parameters {name: value}   [{successful, reason}] in the same order
  atomically  parameters {name: value}   {successful, reason}
  load        file                       sets what this file says, by rclpy's reader; [{successful, reason}]
  compete     name, values, clients      this many clients set one of these values after the other, all at the same
                                         time; how many attempts were successful
  events                                 listens to /parameter_events from now on, and returns when a publisher is there
  event       node                       the next event of this node, {new, changed, deleted: {name: value}}, and its stamp
"""

import math
import threading

from rcl_interfaces.msg import ParameterEvent
from rclpy.parameter import Parameter, parameter_value_to_python
from rclpy.parameter_client import AsyncParameterClient
from rclpy.qos import qos_profile_parameter_events

from control import Control, main, plain


def wire(value):
    """A number that JSON can not say as a word."""
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def shown(message):
    kind = Parameter.Type(message.type)
    value = parameter_value_to_python(message)
    if kind == Parameter.Type.BYTE_ARRAY:
        value = [one[0] for one in value]
    return [kind.name, [wire(one) for one in value] if kind.name.endswith("_ARRAY") else wire(value)]


def parameter(name, given):
    kind, value = given
    if kind == "DOUBLE":
        value = float(value)
    if kind == "BYTE_ARRAY":
        value = [bytes([one]) for one in value]
    return Parameter(name, Parameter.Type[kind], value)


class Parameters(Control):
    client, timeout = None, 20

    def result(self, future):
        answered = threading.Event()
        future.add_done_callback(lambda _: answered.set())
        if not answered.wait(self.timeout):
            raise TimeoutError(f"no answer within {self.timeout} s")
        return future.result()

    def connect(self, node):
        client = AsyncParameterClient(self.node, node)
        if not client.wait_for_services(self.timeout):
            raise TimeoutError(f"no parameter services of {node} within {self.timeout} s")
        return client

    def op_parameters(self, command):
        self.target, self.timeout = command["node"], command.get("timeout", 20)
        self.client = self.connect(self.target)

    def op_get(self, command):
        return [shown(value) for value in self.result(self.client.get_parameters(command["names"])).values]

    def op_types(self, command):
        types = self.result(self.client.get_parameter_types(command["names"])).types
        return [Parameter.Type(one).name for one in types]

    def op_describe(self, command):
        return [plain(one) for one in self.result(self.client.describe_parameters(command["names"])).descriptors]

    def op_list(self, command):
        found = self.result(self.client.list_parameters(command.get("prefixes"), command.get("depth", 0)))
        return {"names": list(found.result.names), "prefixes": list(found.result.prefixes)}

    def op_set(self, command):
        parameters = [parameter(name, value) for name, value in command["parameters"].items()]
        return [plain(one) for one in self.result(self.client.set_parameters(parameters)).results]

    def op_atomically(self, command):
        parameters = [parameter(name, value) for name, value in command["parameters"].items()]
        return plain(self.result(self.client.set_parameters_atomically(parameters)).result)

    def op_load(self, command):
        return [plain(one) for one in self.result(self.client.load_parameter_file(command["file"], use_wildcard=True)).results]

    def op_compete(self, command):
        results = []

        def set_each(client):
            for value in command["values"]:
                results.append(self.result(client.set_parameters([parameter(command["name"], value)])).results[0].successful)

        clients = [self.connect(self.target) for _ in range(command["clients"])]
        threads = [threading.Thread(target=set_each, args=[client]) for client in clients]
        for one in threads:
            one.start()
        for one in threads:
            one.join()
        return sum(results)

    def op_events(self, _):
        self.events = []

        def take(event):
            with self.news:
                self.events.append(event)
                self.news.notify_all()

        self.node.create_subscription(ParameterEvent, "/parameter_events", take, qos_profile_parameter_events)
        self.op_matched({"topics": ["/parameter_events"], "timeout": self.timeout})

    def op_event(self, command):
        def mine():
            return [one for one in self.events if one.node == command["node"]]

        with self.news:
            if not self.news.wait_for(mine, self.timeout):
                raise TimeoutError(f"no event of {command['node']} within {self.timeout} s")
            event = mine()[0]
            self.events.remove(event)
        return {
            "stamp": event.stamp.sec,
            "new": {one.name: shown(one.value) for one in event.new_parameters},
            "changed": {one.name: shown(one.value) for one in event.changed_parameters},
            "deleted": {one.name: shown(one.value) for one in event.deleted_parameters},
        }


if __name__ == "__main__":
    main(Parameters)
