// Package player publishes the messages of a bag at the times of the bag, under control: pause, rate, seek, single
// messages and bursts, by service, key or method, which are all the same methods.
//
// One goroutine reads ahead into a queue that is bounded in bytes; one, on a thread of its own, sleeps until the next
// message is due and publishes its bytes as they are. Time belongs to package clock.
//
// Invariants: messages go out in the order of the bag's iterator, none twice within one pass; after a Seek has
// returned no message from before it begins to be published; while paused only PlayNext and Burst publish; a command
// is answered at once in every state (PlayNext and Burst as soon as their messages are read).
//
// Life cycle: New checks the options and starts nothing; commands may come from then on. Run makes the publishers,
// offers the services and plays until the end of the bag or of its context, then destroys the publishers. A Player runs
// once. The Source is the caller's: it must stay open until Run has returned.
package player
