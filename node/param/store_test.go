package param

import (
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"pgregory.net/rapid"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func declare(t testing.TB, s *Store, name string, value Value, descriptor Descriptor) {
	t.Helper()
	_, err := s.Declare(Declaration{Name: name, Value: value, Descriptor: descriptor})
	require.NoError(t, err)
}

func requireValue(t require.TestingT, s *Store, name string, want Value) {
	got, ok := s.Get(name)
	require.True(t, ok, name)
	require.True(t, got.Equal(want), "%s is %v, not %v", name, got, want)
}

func TestDeclaringTakesTheOverride(t *testing.T) {
	s := NewStore(Overrides{
		"rate": {Of(2.0), "file a"}, "flag": {Of(2.0), "file a"}, "names": {Value{}, "file a"}, "other": {Of(true), "file b"},
	})
	require.Equal(t, []string{"flag", "names", "other", "rate"}, s.Unused())
	value, err := s.Declare(Declaration{Name: "rate", Value: Of(1.0)})
	require.NoError(t, err)
	require.Equal(t, Of(2.0), value)
	value, err = s.Declare(Declaration{
		Name: "flag", Value: Of(1.0), Settled: true, Descriptor: Descriptor{DoubleRange: &DoubleRange{From: 5, To: 6}},
	})
	require.NoError(t, err)
	require.Equal(t, Of(1.0), value)
	value, err = s.Declare(Declaration{Name: "names", Value: Of([]string{"a"})})
	require.NoError(t, err)
	require.Equal(t, Of([]string{}), value)
	value, err = s.Declare(Declaration{Name: "loop", Value: Of(false)})
	require.NoError(t, err)
	require.Equal(t, Of(false), value)

	require.Equal(t, []string{"other"}, s.Unused())
	override, ok := s.Override("rate")
	require.True(t, ok)
	require.Equal(t, "file a", override.Source)
	_, ok = s.Override("loop")
	require.False(t, ok)
}

func TestDeclaringRefuses(t *testing.T) {
	s := NewStore(Overrides{
		"rate": {Of(int64(2)), "file a.yaml"}, "far": {Of(int64(9)), "-p"}, "odd": {Of(int64(3)), "-p"}, "none": {Value{}, "-p"},
	})
	s.Validate(func(parameters []Parameter) error {
		if parameters[0].Name == "odd" {
			return errors.New("odd is odd")
		}
		return nil
	})
	declare(t, s, "there", Of(true), Descriptor{})
	for want, declaration := range map[string]Declaration{
		"parameter rate (file a.yaml): wrong type: 2 is of type integer, it must be of type double, write 2.0": {Name: "rate", Value: Of(1.0)},
		"parameter far (-p): value is out of range: 9, it must be from 0 to 5": {
			Name: "far", Value: Of(int64(1)), Descriptor: Descriptor{IntegerRange: &IntegerRange{0, 5, 0}},
		},
		"parameter odd (-p): odd is odd": {Name: "odd", Value: Of(int64(1))},
		"parameter none (-p): wrong type: not set is of type not set, it must be of type integer": {Name: "none", Value: Of(int64(1))},
		"parameter : has no name":                                         {Value: Of(true)},
		"parameter there: is declared already":                            {Name: "there", Value: Of(true)},
		"parameter empty: has a fixed type, but no value to take it from": {Name: "empty"},
		"parameter bad: value is out of range: 9, it must be from 0 to 5": {
			Name: "bad", Value: Of(int64(9)), Descriptor: Descriptor{IntegerRange: &IntegerRange{0, 5, 0}},
		},
	} {
		_, err := s.Declare(declaration)
		require.EqualError(t, err, want)
		var refused *Error
		require.ErrorAs(t, err, &refused)
		if declaration.Name != "there" {
			_, ok := s.Get(declaration.Name)
			require.False(t, ok)
		}
	}
}

func TestChangesAreRefusedWithAReason(t *testing.T) {
	s := NewStore(nil)
	declare(t, s, "rate", Of(1.0), Descriptor{DoubleRange: &DoubleRange{From: 1, To: 5}})
	declare(t, s, "loop", Of(true), Descriptor{ReadOnly: "It is settled at start."})
	declare(t, s, "any", Of(true), Descriptor{DynamicTyping: true})
	var events []Event
	s.Listen(func(e Event) { events = append(events, e) })
	for want, parameter := range map[string]Parameter{
		"parameter rate: value is out of range: 9.0, it must be from 1.0 to 5.0":         {"rate", Of(9.0)},
		"parameter rate: wrong type: \"2\" is of type string, it must be of type double": {"rate", Of("2")},
		"parameter rate: can not be removed, its type is fixed":                          {"rate", Value{}},
		"parameter loop: is read-only: It is settled at start.":                          {"loop", Of(false)},
		"parameter nosuch: is not declared":                                              {"nosuch", Of(false)},
	} {
		require.EqualError(t, s.Set(parameter.Name, parameter.Value), want)
		require.EqualError(t, s.SetAtomically(Parameter{"any", Of("new")}, parameter), want)
		require.EqualError(t, s.SetAtomically(parameter, Parameter{"any", Of("new")}), want)
	}
	require.ErrorIs(t, s.SetAtomically(), ErrNothing)
	requireValue(t, s, "any", Of(true))
	require.Empty(t, events)
}

func TestEventsTellWhatBecameOfEach(t *testing.T) {
	s := NewStore(nil)
	var events []Event
	s.Listen(func(e Event) { events = append(events, e) })
	declare(t, s, "any", Of(true), Descriptor{DynamicTyping: true})
	declare(t, s, "later", Value{}, Descriptor{DynamicTyping: true})
	declare(t, s, "rate", Of(1.0), Descriptor{})
	require.NoError(t, s.SetAtomically(
		Parameter{"rate", Of(9.0)}, Parameter{"later", Of("x")}, Parameter{"rate", Of(2.0)}, Parameter{"any", Value{}}))
	require.Equal(t, []Event{
		{New: []Parameter{{"any", Of(true)}}},
		{New: []Parameter{{"rate", Of(1.0)}}},
		{
			Changed: []Parameter{{"later", Of("x")}, {"rate", Of(2.0)}},
			Deleted: []Parameter{{"any", Of(true)}},
		},
	}, events)
	_, ok := s.Get("any")
	require.False(t, ok)
	later, ok := s.Describe("later")
	require.True(t, ok)
	require.Equal(t, String, later.Type)
}

// machine is something with two settings that change by itself too; b refuses negative values.
type machine struct {
	mu      sync.Mutex
	a, b    int64
	changed func()
}

func (m *machine) live(field *int64) Live {
	return Live{
		Get: func() Value {
			m.mu.Lock()
			defer m.mu.Unlock()
			return Of(*field)
		},
		Set: func(v Value) error {
			number, _ := As[int64](v)
			return m.set(field, number)
		},
	}
}

func (m *machine) set(field *int64, number int64) error {
	m.mu.Lock()
	if field == &m.b && number < 0 {
		m.mu.Unlock()
		return errors.New("b must not be negative")
	}
	*field = number
	m.mu.Unlock()
	m.changed()
	return nil
}

func newMachine(t testing.TB) (*machine, *Store) {
	m, s := &machine{}, NewStore(nil)
	m.changed = s.Touch
	declare(t, s, "a", Of(int64(0)), Descriptor{})
	declare(t, s, "b", Of(int64(0)), Descriptor{})
	s.Bind("a", m.live(&m.a))
	s.Bind("b", m.live(&m.b))
	s.Bind("nosuch", m.live(&m.b))
	return m, s
}

func TestLiveParametersFollowInBothDirections(t *testing.T) {
	m, s := newMachine(t)
	var events []Event
	s.Listen(func(e Event) { events = append(events, e) })

	require.NoError(t, s.Set("a", Of(int64(1))))
	require.Equal(t, int64(1), m.a)
	require.NoError(t, m.set(&m.a, 2))
	requireValue(t, s, "a", Of(int64(2)))
	require.NoError(t, m.set(&m.a, 2))
	require.EqualError(t, s.SetAtomically(Parameter{"a", Of(int64(3))}, Parameter{"b", Of(int64(-1))}), "parameter b: b must not be negative")
	require.Equal(t, int64(2), m.a, "what was changed before the refusal is as before")
	require.Equal(t, []Event{
		{Changed: []Parameter{{"a", Of(int64(1))}}},
		{Changed: []Parameter{{"a", Of(int64(2))}}},
	}, events)
}

// Whoever changes what at the same time: each change is all or nothing, and the last event tells the last value.
func TestManyChangeAtOnce(t *testing.T) {
	m, s := newMachine(t)
	declare(t, s, "x", Of(int64(0)), Descriptor{})
	declare(t, s, "y", Of(int64(0)), Descriptor{})
	last := map[string]Value{}
	s.Listen(func(e Event) {
		for _, p := range e.Changed {
			last[p.Name] = p.Value
		}
	})
	var group sync.WaitGroup
	var refused atomic.Int64
	for worker := range int64(8) {
		group.Go(func() {
			for i := range int64(200) {
				number := worker*1000 + i
				switch i % 4 {
				case 0:
					_ = m.set(&m.a, number)
				case 1:
					_ = s.Set("a", Of(number))
				case 2:
					_ = s.SetAtomically(Parameter{"x", Of(number)}, Parameter{"y", Of(number)})
				case 3:
					if s.SetAtomically(Parameter{"x", Of(number)}, Parameter{"a", Of(number)}, Parameter{"b", Of(int64(-1))}) != nil {
						refused.Add(1)
					}
				}
				s.List(nil, Recursive)
				s.All()
			}
		})
	}
	group.Wait()
	require.Equal(t, int64(400), refused.Load())
	requireValue(t, s, "a", Of(m.a))
	x, _ := s.Get("x")
	requireValue(t, s, "y", x)
	require.Equal(t, map[string]Value{"a": Of(m.a), "x": x, "y": x}, last)
}

// The store against a map: any declarations and changes.
func TestStoreIsAMapWithRules(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, model := NewStore(nil), map[string]Value{}
		types := map[string]Type{}
		seen := map[string]Value{} // what events told
		s.Listen(func(e Event) {
			for _, p := range append(e.New, e.Changed...) {
				seen[p.Name] = p.Value
			}
		})
		names := rapid.SampledFrom([]string{"a", "b", "c", "d"})
		t.Repeat(map[string]func(*rapid.T){
			"declare": func(t *rapid.T) {
				name, value := names.Draw(t, "name"), values().Draw(t, "value")
				_, err := s.Declare(Declaration{Name: name, Value: value})
				_, known := model[name]
				require.Equal(t, known, err != nil)
				if !known {
					model[name], types[name] = value, value.Type()
				}
			},
			"set": func(t *rapid.T) {
				var parameters []Parameter
				good := true
				for i := range rapid.IntRange(1, 3).Draw(t, "count") {
					p := Parameter{names.Draw(t, fmt.Sprint("name", i)), values().Draw(t, fmt.Sprint("value", i))}
					parameters = append(parameters, p)
				}
				for _, p := range lastOfEach(parameters) {
					good = good && types[p.Name] == p.Value.Type()
				}
				require.Equal(t, good, s.SetAtomically(parameters...) == nil)
				if good {
					for _, p := range parameters {
						model[p.Name] = p.Value
					}
				}
			},
			"": func(t *rapid.T) {
				require.Len(t, s.All(), len(model))
				for name, value := range model {
					requireValue(t, s, name, value)
					require.True(t, seen[name].Equal(value))
				}
			},
		})
	})
}

func TestNumbersThatAreNone(t *testing.T) {
	s := NewStore(nil)
	declare(t, s, "d", Of(math.NaN()), Descriptor{})
	s.Bind("d", Live{Get: func() Value { return Of(math.NaN()) }})
	s.Listen(func(Event) { t.Error("NaN is no change from NaN") })
	s.Touch()
}
