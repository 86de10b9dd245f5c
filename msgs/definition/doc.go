// Package definition finds the text that describes a message type and joins it with the texts of all types it uses,
// in the form that bags keep ("ros2msg", or "ros2idl" where only IDL is installed).
//
// The invariant: a Definition that is returned is complete. Every type it uses is in it, each once; when one is
// missing the whole is ErrNotFound, never a part.
//
// Types that have no file of their own are composed from their parts: the event message of a service
// (pkg/srv/T_Event), the goal, result and feedback messages of an action, and the services behind an action. What is
// composed is the message that is really on the wire, not the text of the .srv or .action file.
//
// Describe goes on from there: it reads a joined ros2msg text into a Description, the form in which ROS itself tells of
// types, and gives its hash (REP 2011). FromDescription is the way back, for what other nodes tell. Definitions in IDL
// are found and joined, but not described.
//
// A Finder is made by NewFinder, needs no end and may be used by many goroutines. It reads files when they are first
// asked for and keeps what it found; a type that was not found is looked for again next time.
package definition
