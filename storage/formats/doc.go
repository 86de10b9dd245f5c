// Package formats is the list of storage formats that this program has. It stands apart from package storage, which
// the formats themselves import.
//
// Invariant: the list is built anew by each call, so nobody can change it for others.
//
// Life cycle: none; look a format up and use its functions.
package formats
