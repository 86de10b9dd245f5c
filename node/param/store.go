package param

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
)

// Declaration introduces a parameter.
type Declaration struct {
	Name string
	// Value is the default. Its type is that of the parameter, unless the descriptor has DynamicTyping.
	Value Value
	// Settled makes Value win over an override: the user gave it in a way that counts more, such as a flag. Whoever took
	// it has checked it too, so no range is asked.
	Settled bool
	Descriptor
}

// Live ties a parameter to what it stands for. Both functions must not block and must not use the Store.
type Live struct {
	// Get is the value as it is now.
	Get func() Value
	// Set changes it, or says why not. It is given values that comply with the descriptor only.
	Set func(Value) error
}

// Number is a double that is got and set by these functions.
func Number(get func() float64, set func(float64) error) Live {
	return Live{
		Get: func() Value { return Of(get()) },
		Set: func(v Value) error {
			number, _ := As[float64](v)
			return set(number)
		},
	}
}

// Event is what became of parameters in one change.
type Event struct{ New, Changed, Deleted []Parameter }

// Description is a parameter as it is declared.
type Description struct {
	Name string
	Type Type
	Descriptor
}

// Store holds the parameters of one node. Its methods may be called from any goroutine, but not from callbacks.
type Store struct {
	overrides Overrides

	// change is held for as long as a change takes, its callbacks included, so that they come one after the other.
	change     sync.Mutex
	validators []func([]Parameter) error
	listeners  []func(Event)

	// touched says that a Live value may have changed by itself. Whoever holds change looks at it after letting go.
	touched atomic.Bool

	mu       sync.RWMutex // guards what follows; held for moments only
	declared map[string]*declared
	unused   map[string]bool // overrides that were not declared until now
}

type declared struct {
	typ        Type // of the declaration; with dynamic typing that of the value
	value      Value
	descriptor Descriptor
	live       Live // Get is nil for most
}

// NewStore gives a Store whose parameters begin with these overrides, which may be nil.
func NewStore(overrides Overrides) *Store {
	s := &Store{overrides: maps.Clone(overrides), declared: map[string]*declared{}, unused: map[string]bool{}}
	for name := range overrides {
		s.unused[name] = true
	}
	return s
}

// Declare adds a parameter and gives the value that it begins with. An *Error says why an override, or the default, is
// refused; then nothing is declared.
func (s *Store) Declare(d Declaration) (Value, error) {
	s.lockChange()
	defer s.unlockChange()
	s.mu.Lock()
	_, known := s.declared[d.Name]
	delete(s.unused, d.Name)
	s.mu.Unlock()
	value, source := d.Value, ""
	if override, ok := s.overrides[d.Name]; ok && !d.Settled {
		value, source = override.Value, override.Source
		if none, isArray := empty(d.Value.kind); isArray && value.kind == NotSet {
			value = none // the parser has no type for []
		}
	}
	refuse := func(err error) (Value, error) { return Value{}, &Error{Name: d.Name, Source: source, Err: err} }
	switch {
	case d.Name == "":
		return refuse(errors.New("has no name"))
	case known:
		return refuse(errors.New("is declared already"))
	case d.Value.kind == NotSet && !d.DynamicTyping:
		return refuse(errors.New("has a fixed type, but no value to take it from"))
	}
	if !d.Settled {
		if err := d.Descriptor.check(d.Value.kind, value); err != nil {
			return refuse(err)
		}
	}
	parameters := []Parameter{{d.Name, value}}
	if err := s.validate(parameters); err != nil {
		return refuse(err)
	}
	s.mu.Lock()
	s.declared[d.Name] = &declared{typ: value.kind, value: value, descriptor: d.Descriptor}
	s.mu.Unlock()
	if value.kind != NotSet {
		s.announce(Event{New: parameters})
	}
	return value, nil
}

// Bind ties a declared parameter to what it stands for; from then on that decides about the value. What is not
// declared is left alone.
func (s *Store) Bind(name string, live Live) {
	s.lockChange()
	s.mu.Lock()
	if d, ok := s.declared[name]; ok {
		d.live = live
	}
	s.mu.Unlock()
	s.unlockChange()
	s.Touch()
}

// Validate adds a callback that refuses changes: its error is the reason. It is asked about all parameters of a change
// together, after types and ranges were checked, and should change nothing itself.
func (s *Store) Validate(validator func([]Parameter) error) {
	s.lockChange()
	defer s.unlockChange()
	s.validators = append(s.validators, validator)
}

// Listen adds a callback for what has changed. Events come one at a time, in the order of the changes.
func (s *Store) Listen(listener func(Event)) {
	s.lockChange()
	defer s.unlockChange()
	s.listeners = append(s.listeners, listener)
}

// Get gives the value of a parameter; false when it is not declared.
func (s *Store) Get(name string) (Value, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	d, ok := s.declared[name]
	if !ok {
		return Value{}, false
	}
	return d.now(), true
}

func (d *declared) now() Value {
	if d.live.Get != nil {
		return d.live.Get()
	}
	return d.value
}

// Describe gives the description of a parameter; false when it is not declared.
func (s *Store) Describe(name string) (Description, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	d, ok := s.declared[name]
	if !ok {
		return Description{}, false
	}
	return Description{Name: name, Type: d.typ, Descriptor: d.descriptor}, true
}

// All gives every parameter with its value, by name.
func (s *Store) All() []Parameter {
	s.mu.RLock()
	defer s.mu.RUnlock()
	var all []Parameter
	for _, name := range slices.Sorted(maps.Keys(s.declared)) {
		all = append(all, Parameter{name, s.declared[name].now()})
	}
	return all
}

// Unused names the overrides that no declaration has asked for until now, by name.
func (s *Store) Unused() []string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return slices.Sorted(maps.Keys(s.unused))
}

// Override is what the user gave a parameter to begin with, declared or not; false for nothing.
func (s *Store) Override(name string) (Override, bool) {
	override, ok := s.overrides[name]
	return override, ok
}

// Set changes one parameter, as SetAtomically does.
func (s *Store) Set(name string, value Value) error { return s.SetAtomically(Parameter{name, value}) }

// SetAtomically changes all of these parameters, or none of them; then an *Error says which one was refused, and why, or
// it is what a validator said. Of several values for one name the last one counts. NotSet removes a parameter with dynamic typing.
func (s *Store) SetAtomically(parameters ...Parameter) error {
	s.lockChange()
	defer s.unlockChange()
	if len(parameters) == 0 {
		return ErrNothing
	}
	parameters = lastOfEach(parameters)
	for _, p := range parameters {
		if err := s.check(p); err != nil {
			return &Error{Name: p.Name, Err: err}
		}
	}
	if err := s.validate(parameters); err != nil {
		return err
	}
	if err := s.carryOut(parameters); err != nil {
		return err
	}
	s.announce(s.keep(parameters))
	return nil
}

func lastOfEach(parameters []Parameter) []Parameter {
	var kept []Parameter
	for i, p := range parameters {
		later := slices.ContainsFunc(parameters[i+1:], func(other Parameter) bool { return other.Name == p.Name })
		if !later {
			kept = append(kept, p)
		}
	}
	return kept
}

func (s *Store) check(p Parameter) error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	d, ok := s.declared[p.Name]
	switch {
	case !ok:
		return ErrNotDeclared
	case d.descriptor.ReadOnly != "":
		return fmt.Errorf("%w: %s", ErrReadOnly, d.descriptor.ReadOnly)
	case p.Value.kind == NotSet && !d.descriptor.DynamicTyping:
		return ErrStaticType
	}
	return d.descriptor.check(d.typ, p.Value)
}

func (s *Store) validate(parameters []Parameter) error {
	for _, validator := range s.validators {
		if err := validator(parameters); err != nil {
			return err
		}
	}
	return nil
}

// carryOut changes what the parameters stand for. Where one refuses, those before it get their old values back.
func (s *Store) carryOut(parameters []Parameter) error {
	var undo []func()
	for _, p := range parameters {
		s.mu.RLock()
		live := s.declared[p.Name].live
		s.mu.RUnlock()
		if live.Set == nil {
			continue
		}
		old := live.Get()
		if err := live.Set(p.Value); err != nil {
			for _, back := range slices.Backward(undo) {
				back()
			}
			return &Error{Name: p.Name, Err: err}
		}
		undo = append(undo, func() { _ = live.Set(old) }) // it was its value a moment ago
	}
	return nil
}

// keep stores values that were accepted.
func (s *Store) keep(parameters []Parameter) Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	var event Event
	for _, p := range parameters {
		d := s.declared[p.Name]
		if p.Value.kind == NotSet {
			if d.value.kind != NotSet {
				event.Deleted = append(event.Deleted, Parameter{p.Name, d.value})
			}
			delete(s.declared, p.Name)
			continue
		}
		d.value, d.typ = p.Value, p.Value.kind
		event.Changed = append(event.Changed, p)
	}
	return event
}

func (s *Store) announce(event Event) {
	for _, listener := range s.listeners {
		listener(event)
	}
}
