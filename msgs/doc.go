// Package msgs holds the interface packages that this project brings (rosbag2_interfaces), their generated Go
// bindings (gen, made at build), and one set of plain Go types for them, the union of all distros: a field that the
// distro at hand does not have is left at its zero value.
package msgs
