// Package node is ROS as the rest of the program sees it: context and node, serialized subscriptions and publishers,
// services, the graph and quality of service. Its plain types build everywhere; everything that needs ROS carries the
// build tag "ros" and is, with msgs/gen, the only code that imports rclgo or "C".
//
// rclgo gives the context, the node, services and typed publishers. Serialized traffic goes through a small C data
// plane on the same rcl node: it takes whole batches from all subscriptions into memory blocks with one cgo call, and
// publishes bytes where they lie. Clients take and give serialized bytes as well; the structs that rcl wants of them are
// made on the way, by the type supports of installed packages.
//
// Life cycle: Open, add and remove subscriptions, publishers and services at any time, Run until the context ends,
// Close. Close after Run, Take and Changed have returned.
package node
