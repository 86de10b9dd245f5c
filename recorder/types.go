package recorder

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"

	"rosbagd/msgs/definition"
	"rosbagd/node"
	"rosbagd/storage"
)

const (
	// inquiryLimit is how long a topic waits for its publishers to tell what its type is made of. A node on a busy
	// machine may need that long; one that offers no answers is given up sooner (node.Inquire).
	inquiryLimit = 3 * time.Second
	// publisherLimit is how long a topic waits for a publisher that can be asked.
	publisherLimit = time.Second
	// nodesPerInquiry bounds how many nodes are asked about one type.
	nodesPerInquiry = 4
)

// typeKey is a type as publishers announce it.
type typeKey struct{ typ, hash string }

// types finds out what the types of one bag are made of: from what is installed here, or else from the nodes that
// publish them. Nothing of it waits: an answer that is under way is asked for again. All but inquiries belongs to the
// goroutine of discovery.
type types struct {
	env Environment
	log *zap.Logger

	found map[typeKey]*foundType

	answered  chan struct{} // has an element when an inquiry has ended since the last look
	ctx       context.Context
	cancel    context.CancelFunc
	inquiries sync.WaitGroup
}

// foundType is what is known of a type by now.
type foundType struct {
	done       bool
	definition storage.Definition // its encoding is empty when none was found
	err        error              // why there is none
	from       string             // the node that told; empty for what is here
	matches    bool               // the definition has the announced hash, as far as one can tell
	said       bool

	since time.Time         // when it was first looked for
	asked map[string]string // by node: what became of the question, but for the answer that was taken

	mu      sync.Mutex // guards what inquiries leave
	open    int        // inquiries under way
	answers []answer
}

type answer struct {
	node       string
	definition storage.Definition
	err        error
}

func newTypes(env Environment) *types {
	ctx, cancel := context.WithCancel(context.Background())
	return &types{
		env: env, log: env.Logger, found: map[typeKey]*foundType{}, answered: make(chan struct{}, 1), ctx: ctx, cancel: cancel,
	}
}

// end gives up what is under way.
func (t *types) end() {
	t.cancel()
	t.inquiries.Wait()
}

// waiting says whether a type is being asked for.
func (t *types) waiting() bool {
	for _, f := range t.found {
		if !f.done {
			return true
		}
	}
	return false
}

// find gives what is known of a type, and nil while its publishers are being asked.
func (t *types) find(typ, hash string, publishers []node.Endpoint) *foundType {
	key := typeKey{typ, hash}
	f := t.found[key]
	if f == nil {
		f = &foundType{asked: map[string]string{}, since: time.Now()}
		t.found[key] = f
		f.lookHere(t.env.Definitions, key)
		f.done = f.matches || hash == "" || t.env.Inquirer == nil
	}
	if !f.done {
		all := t.ask(f, key, publishers)
		f.take(key, all)
		f.done = f.done || !time.Now().Before(f.due())
	}
	if !f.done {
		return nil
	}
	return f
}

// lookHere takes the definition that this machine has.
func (f *foundType) lookHere(here Definitions, key typeKey) {
	if here == nil {
		f.err = errors.New("definitions are not looked for")
		return
	}
	f.definition, f.err = here.Definition(key.typ, key.hash)
	f.matches = f.err == nil && hasHash(f.definition, key)
}

// hasHash says whether a definition is the one that was announced. One that can not be described has the benefit of
// the doubt.
func hasHash(d storage.Definition, key typeKey) bool {
	described, _, err := definition.Describe(key.typ, d)
	return err != nil || key.hash == "" || described.Hash() == key.hash
}

// ask sends an inquiry to each publishing node that is not asked yet, and says whether all that can be asked are.
func (t *types) ask(f *foundType, key typeKey, publishers []node.Endpoint) (all bool) {
	all = true
	for _, p := range publishers {
		name := p.FullNodeName()
		if _, asked := f.asked[name]; asked || p.TypeHash != key.hash || len(f.asked) == nodesPerInquiry {
			continue
		}
		if name == "" { // the graph will tell
			all = false
			continue
		}
		f.asked[name] = fmt.Sprintf("%s has not answered within %v", name, inquiryLimit)
		f.mu.Lock()
		f.open++
		f.mu.Unlock()
		ctx, cancel := context.WithDeadline(t.ctx, f.since.Add(inquiryLimit))
		t.inquiries.Go(func() {
			defer cancel()
			told, err := t.env.Inquirer.Inquire(ctx, name, key.typ, key.hash)
			f.mu.Lock()
			f.open--
			f.answers = append(f.answers, answer{name, told, err})
			f.mu.Unlock()
			select {
			case t.answered <- struct{}{}:
			default:
			}
		})
	}
	return all && len(f.asked) > 0
}

// due is when a type is done in any case.
func (f *foundType) due() time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.open > 0 {
		return f.since.Add(inquiryLimit)
	}
	return f.since.Add(publisherLimit)
}

// take uses the first answer that has the hash. When all have answered there is nothing to wait for: what is published
// meanwhile would be missed.
func (f *foundType) take(key typeKey, all bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, a := range f.answers {
		switch {
		case errors.Is(a.err, context.DeadlineExceeded):
		case a.err != nil:
			f.asked[a.node] = a.err.Error()
		case hasHash(a.definition, key):
			f.done, f.matches, f.definition, f.err, f.from = true, true, a.definition, nil, a.node
			return
		default:
			f.asked[a.node] = a.node + " tells a definition with another hash"
		}
	}
	f.answers = nil
	f.done = f.open == 0 && (all || len(f.asked) == nodesPerInquiry)
}

// wait waits until an inquiry has ended, or all must have.
func (t *types) wait(ctx context.Context) {
	timer := time.NewTimer(inquiryLimit)
	defer timer.Stop()
	for _, f := range t.found {
		if !f.done {
			timer.Reset(min(inquiryLimit, time.Until(f.due())))
		}
	}
	select {
	case <-t.answered:
	case <-timer.C:
	case <-ctx.Done():
	}
}

// use lets subscriptions of the type be made where it is not installed.
func (t *types) use(typ, hash string, f *foundType) {
	if t.env.Types == nil {
		return
	}
	if err := t.env.Types.Describe(node.Type{Name: typ, Hash: hash, Definition: f.definition}); err != nil {
		t.log.Debug("type is announced without its description", zap.String("type", typ), zap.Error(err))
	}
}

// say tells once what became of a type whose topic is recorded.
func (t *types) say(name, typ, hash string, f *foundType) {
	if f.said {
		return
	}
	f.said = true
	fields := []zap.Field{zap.String("type", typ), zap.String("topic", name)}
	if !f.matches && len(f.asked) > 0 {
		fields = append(fields, zap.Strings("asked", slices.Sorted(maps.Values(f.asked))))
	}
	switch {
	case f.err != nil:
		t.log.Warn("definition of a type was not found, it is recorded without; --msg-path can bring it", append(fields, zap.Error(f.err))...)
	case !f.matches:
		t.log.Warn("definition of a type is not the one that is published, the bag keeps the published hash; --msg-path can bring the other",
			append(fields, zap.String("published", hash))...)
	case f.from != "":
		t.log.Info(fmt.Sprintf("Type '%s' is recorded with the definition that '%s' gave", typ, f.from))
	}
}
