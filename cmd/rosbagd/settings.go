package main

import (
	"errors"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"rosbagd/node/param"
)

// setting is a parameter of a node that says what a flag of its verb says too. It begins with what the flag says, or
// with what parameter files and -p say, or with the flag's default.
type setting interface {
	// declare makes the parameter, and puts the value that it begins with where the flag puts its own.
	declare(store *param.Store, given func(flags []string) bool) error
	// parameters are its names, and the flags that win over them, in their long form.
	parameters() (names, flags []string)
}

// settings are the parameters of one kind of node, each of them once.
type settings []setting

// declare declares all of them. Flags that were given on the command line win.
func (s settings) declare(store *param.Store, flags *pflag.FlagSet) error {
	given := func(names []string) bool { return slices.ContainsFunc(names, flags.Changed) }
	for _, one := range s {
		if err := one.declare(store, given); err != nil {
			return &usageError{err}
		}
	}
	return nil
}

// explain makes of an error about one flag one about the parameter that took its place.
func (s settings) explain(err error, store *param.Store) error {
	var usage *usageError
	if !errors.As(err, &usage) {
		return err
	}
	for _, one := range s {
		names, flags := one.parameters()
		for _, name := range names {
			override, overridden := store.Override(name)
			for _, flag := range flags {
				rest, about := strings.CutPrefix(err.Error(), "--"+flag)
				several := strings.HasPrefix(rest, " and ")
				if overridden && about && !several && strings.IndexAny(rest, " :") == 0 {
					reason := errors.New(strings.TrimLeft(rest, " :"))
					return &usageError{&param.Error{Name: name, Source: override.Source, Err: reason}}
				}
			}
		}
	}
	return err
}

// one is a setting in one parameter.
type one[T param.Kind] struct {
	name       string
	flags      []string
	at         field[T]
	descriptor param.Descriptor
	check      func(T) error // of what a parameter says, beside its type and range; nil is none
	settled    bool          // given on the command line in another way than by a flag
	live       bool          // can be changed while the node runs
}

// field is where a setting is kept.
type field[T any] struct {
	get func() T
	set func(T)
}

func at[T any](target *T) field[T] {
	return field[T]{func() T { return *target }, func(value T) { *target = value }}
}

func (s one[T]) parameters() (names, flags []string) { return []string{s.name}, s.flags }

func (s one[T]) declare(store *param.Store, given func([]string) bool) error {
	descriptor, settled := s.descriptor, s.settled || given(s.flags)
	if !s.live {
		descriptor.ReadOnly = onlyAtStart
	}
	value, err := store.Declare(param.Declaration{
		Name: s.name, Value: param.Of(s.at.get()), Settled: settled, Descriptor: descriptor,
	})
	if err != nil {
		return err
	}
	data, ok := param.As[T](value)
	if !ok || settled {
		return nil
	}
	if s.check != nil {
		if err := s.check(data); err != nil {
			override, _ := store.Override(s.name)
			return &param.Error{Name: s.name, Source: override.Source, Err: err}
		}
	}
	s.at.set(data)
	return nil
}

// onlyAtStart is why most parameters can not be changed.
const onlyAtStart = "it counts when the node starts, by flag, parameter file or -p"

// duration is a setting in two parameters, NAME.sec and NAME.nsec. Where only one of them is given the other one is 0.
type duration struct {
	name        string
	flags       []string
	at          field[time.Duration]
	description string
}

func (s duration) parameters() (names, flags []string) {
	return []string{s.name + ".sec", s.name + ".nsec"}, s.flags
}

func (s duration) declare(store *param.Store, given func([]string) bool) error {
	const (
		maxSec  = int64(math.MaxInt64/time.Second) - 1
		maxNsec = int64(time.Second - 1)
	)
	sec, nsec := int64(s.at.get()/time.Second), int64(s.at.get()%time.Second)
	_, hasSec := store.Override(s.name + ".sec")
	_, hasNsec := store.Override(s.name + ".nsec")
	if (hasSec || hasNsec) && !given(s.flags) {
		sec, nsec = 0, 0
	}
	for _, part := range []one[int64]{
		{name: s.name + ".sec", flags: s.flags, at: at(&sec), descriptor: param.Descriptor{
			Description: s.description + ", seconds", IntegerRange: &param.IntegerRange{From: -maxSec, To: maxSec},
		}},
		{name: s.name + ".nsec", flags: s.flags, at: at(&nsec), descriptor: param.Descriptor{
			Description: s.description + ", nanoseconds", IntegerRange: &param.IntegerRange{From: -maxNsec, To: maxNsec},
		}},
	} {
		if err := part.declare(store, given); err != nil {
			return err
		}
	}
	if !given(s.flags) {
		s.at.set(durationOf(sec, nsec))
	}
	return nil
}

// durationOf is negative when either part is, and as long as both parts together.
func durationOf(sec, nsec int64) time.Duration {
	long := time.Duration(abs(sec))*time.Second + time.Duration(abs(nsec))
	if sec < 0 || nsec < 0 {
		return -long
	}
	return long
}

func abs(i int64) int64 { return max(i, -i) }

// seconds keeps a duration where a flag keeps seconds.
func seconds(target *float64) field[time.Duration] {
	return field[time.Duration]{
		func() time.Duration { return fromSeconds(*target) },
		func(d time.Duration) { *target = d.Seconds() },
	}
}

// worded keeps one of rosbag2's words where a flag keeps ours for the same.
func worded(target *string, theirs map[string]string) (field[string], []string) {
	var words []string
	for _, word := range theirs {
		words = append(words, word)
	}
	slices.Sort(words)
	return field[string]{
		func() string { return theirs[*target] },
		func(word string) {
			for ours, other := range theirs {
				if other == word {
					*target = ours
				}
			}
		},
	}, words
}
