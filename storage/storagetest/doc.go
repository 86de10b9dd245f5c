// Package storagetest is the suite that every storage format must pass.
//
// Invariant: it asks only what package storage promises. Where formats differ (publish times that are not kept), the
// Traits of the format say so.
//
// Life cycle: a test of the format calls Run.
package storagetest
