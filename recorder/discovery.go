package recorder

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"rosbagd/node"
	"rosbagd/storage"
	"rosbagd/storage/qos"
)

const (
	// retireAfter is how long a class of publishers must be gone before its subscription ends: the last messages of
	// a publisher that has just gone are still to be taken.
	retireAfter = time.Second
	// offersPerTopic bounds the offered profiles kept of a topic whose publishers come and go.
	offersPerTopic = 256
	// settleTime without a change of the graph, and at most settleLimit, come before the only look of NoDiscovery.
	settleTime  = 500 * time.Millisecond
	settleLimit = 3 * time.Second
	// relookInterval is the longest time between two looks at the graph while nothing seems to change.
	relookInterval = time.Second
)

// discovery follows the graph for one bag: it subscribes what the filter selects and keeps subscriptions in step with
// the publishers. All but searching belongs to one goroutine at a time: Record's until begun, then the watching one.
type discovery struct {
	opts  Options
	env   Environment
	log   *zap.Logger
	table *table
	rec   *recording
	types *types

	searching atomic.Bool                        // new topics are looked for
	started   atomic.Bool                        // searching was switched on since the last look
	nudge     atomic.Pointer[context.CancelFunc] // ends the wait of run

	watched     map[string]*watched
	warned      map[string]bool // topics with a complaint that was logged
	refused     map[string]bool // topics that stay out of this bag
	asking      map[string]bool // topics whose publishers were asked for their type
	hiddenSaid  bool
	graphDown   bool
	unfinished  bool // something to do again at the next look, without a change of the graph
	offersStale bool // the graph has changed since offers were looked at
	offersTime  time.Time
	fitted      time.Time // when depths were looked at
}

// watched is a subscribed topic with what its publishers offer.
type watched struct {
	*topic
	meta       storage.Topic
	override   *qos.Profile      // nil: the subscriptions follow the publishers
	publishers map[node.GID]bool // seen so far
	classes    map[class]*subscription

	keep     int // messages that its publishers keep
	sizes    sizes
	replaced []replacement
}

type subscription struct {
	*source
	depth    int
	made     time.Time
	goneFrom time.Time // zero while a publisher needs it
}

func newDiscovery(opts Options, env Environment, rec *recording) *discovery {
	return &discovery{
		opts: opts, env: env, log: env.Logger, table: rec.table, rec: rec, types: newTypes(env),
		watched: map[string]*watched{}, warned: map[string]bool{}, refused: map[string]bool{}, asking: map[string]bool{},
	}
}

// begin subscribes the topics that were asked for by name and have publishers already.
func (d *discovery) begin(ctx context.Context) error {
	d.searching.Store(true)
	if d.opts.NoDiscovery {
		if err := d.settle(ctx); err != nil {
			return err
		}
	}
	d.lookAndWait(ctx, func(name string) bool { return slices.Contains(d.opts.Filter.Topics, name) })
	return nil
}

// lookAndWait looks until the types of all topics that it met are known, or will not be.
func (d *discovery) lookAndWait(ctx context.Context, only func(name string) bool) {
	d.look(only)
	for d.types.waiting() && ctx.Err() == nil {
		d.types.wait(ctx)
		d.look(only)
	}
}

// start switches the search on and says whether that changed anything.
func (d *discovery) start() bool {
	if d.searching.Swap(true) {
		return false
	}
	d.started.Store(true)
	if nudge := d.nudge.Load(); nudge != nil {
		(*nudge)()
	}
	return true
}

// run looks at the graph at each change. An idle graph costs one look at the changed time limit, and nothing else.
func (d *discovery) run(ctx context.Context) {
	if d.opts.NoDiscovery {
		d.lookAndWait(ctx, nil)
		d.searching.Store(false)
	} else {
		d.look(nil)
	}
	looked := time.Now()
	for {
		changed, err := d.wait(ctx)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			if !d.graphDown {
				d.graphDown = true
				d.log.Warn("graph can not be watched, looking at intervals", zap.Error(err))
			}
			if !waitFor(ctx, d.opts.PollingInterval) {
				return
			}
		}
		now := time.Now()
		changed = changed || err != nil
		// Now and then a look without a reason: what a middleware forgot to tell must not be missed for good.
		if d.started.Swap(false) || changed || d.unfinished || now.Sub(looked) >= relookInterval {
			looked = now
			d.look(nil)
		}
		// Offers cost a question per topic. During a storm of changes they wait for their interval.
		d.offersStale = d.offersStale || changed
		if d.offersStale && now.Sub(d.offersTime) >= d.opts.PollingInterval {
			d.offersTime = now
			d.refreshOffers(now)
		}
		d.fitDepths(now)
	}
}

// wait waits for a change of the graph; when there is something to do again not longer than the polling interval.
func (d *discovery) wait(ctx context.Context) (changed bool, err error) {
	wait, nudge := context.WithCancel(ctx)
	defer nudge()
	d.nudge.Store(&nudge)
	if d.started.Load() {
		return false, nil
	}
	limit := d.opts.PollingInterval
	if !d.unfinished && !d.offersStale {
		limit = max(limit, relookInterval)
	}
	changed, err = d.env.Graph.Changed(wait, limit)
	if wait.Err() != nil {
		return changed, nil
	}
	return changed, err
}

// settle waits until the graph has been quiet for a while.
func (d *discovery) settle(ctx context.Context) error {
	for end := time.Now().Add(settleLimit); time.Now().Before(end); {
		changed, err := d.env.Graph.Changed(ctx, settleTime)
		if err != nil {
			return fmt.Errorf("watch graph: %w", err)
		}
		if !changed {
			return nil
		}
	}
	return nil
}

// reportMissing tells which topics are not in the bag though they were selected and seen, or asked for by name: a typo
// must not cost a whole run in silence.
func (d *discovery) reportMissing() {
	missing := func(name string) bool { return d.watched[name] == nil && !d.refused[name] }
	for _, name := range slices.Sorted(maps.Keys(d.asking)) {
		if missing(name) {
			d.log.Warn("publishers or the recording ended while the type of a topic was asked for, it is not in the bag", zap.String("topic", name))
		}
	}
	if d.opts.Filter.AllTopics {
		return
	}
	for _, name := range d.opts.Filter.Topics {
		if missing(name) && !d.asking[name] {
			d.log.Warn("topic was never seen, it is not in the bag", zap.String("topic", name))
		}
	}
}

func waitFor(ctx context.Context, t time.Duration) bool {
	timer := time.NewTimer(t)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// look subscribes what is selected and not yet subscribed, of the names that only lets through (nil: all).
func (d *discovery) look(only func(name string) bool) {
	if !d.searching.Load() {
		return
	}
	d.unfinished = false
	topics, err := d.env.Graph.Topics()
	if err != nil {
		d.warnOnce("", "topics can not be listed", zap.Error(err))
		d.unfinished = true
		return
	}
	names := make([]string, 0, len(topics))
	for name := range topics {
		if d.watched[name] != nil && len(topics[name]) > 1 {
			d.complainOfTypes(name, topics[name])
		}
		if d.watched[name] == nil && !d.refused[name] && (only == nil || only(name)) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		switch d.opts.Filter.Select(name, topics[name]) {
		case Selected:
			d.subscribe(name, topics[name][0])
		case SeveralTypes:
			d.complainOfTypes(name, topics[name])
		case Hidden:
			if !d.hiddenSaid {
				d.hiddenSaid = true
				d.log.Warn("Hidden topics are not recorded. Enable them with --include-hidden-topics")
			}
		}
	}
	if d.opts.Filter.namesOnly() && len(d.watched) == len(d.opts.Filter.Topics) && d.searching.Swap(false) {
		d.log.Info("All requested topics are subscribed. Stopping discovery...")
	}
}

// complainOfTypes tells once that the nodes of a topic do not agree on its type: a file has one type for each topic.
func (d *discovery) complainOfTypes(name string, types []string) {
	if !d.first("types of " + name) {
		return
	}
	if w := d.watched[name]; w != nil {
		d.log.Error("topic has more than one type, only one of them is recorded",
			zap.String("topic", name), zap.Strings("types", types), zap.String("recorded", w.typ))
		return
	}
	d.log.Error("topic has more than one type and is not recorded", zap.String("topic", name), zap.Strings("types", types))
}

func (d *discovery) subscribe(name, typ string) {
	publishers, err := d.env.Graph.Publishers(name)
	if err != nil {
		d.warnOnce(name, "publishers can not be listed", zap.String("topic", name), zap.Error(err))
		d.unfinished = true
		return
	}
	if len(publishers) == 0 {
		return // its offers are not known yet; the graph will change when there are any
	}
	hash, agreed := commonHash(publishers)
	found := d.types.find(typ, hash, publishers)
	if found == nil {
		d.asking[name] = true
		d.unfinished = true
		return
	}
	if !agreed {
		d.warnOnce("hashes of "+name,
			fmt.Sprintf("publishers do not agree on the type description hashes for topic type '%s'", typ), zap.String("topic", name))
	}
	d.types.use(typ, hash, found)
	w := &watched{
		topic: &topic{name: name, typ: typ},
		meta: storage.Topic{
			Name: name, Type: typ, SerializationFormat: d.opts.SerializationFormat, TypeHash: hash, Definition: found.definition,
		},
		publishers: map[node.GID]bool{},
		classes:    map[class]*subscription{},
	}
	w.addOffers(publishers)
	w.keep = keptBy(publishers)
	profiles := subscriptionProfiles(publishers, d.opts.Depth)
	if override, ok := d.opts.QoSOverrides[name]; ok {
		w.override = &override
		profiles = []qos.Profile{override}
		d.log.Info("Overriding subscription profile for " + name)
	}
	for _, profile := range profiles {
		if err := d.addClass(w, profile); err != nil {
			d.complain(w, err)
			d.offersStale = true // classes that are missing now are tried again with the offers
			break
		}
	}
	if len(w.classes) == 0 {
		return
	}
	d.watched[name] = w
	d.types.say(name, typ, hash, found)
	d.rec.silence.see(w.topic, publishers)
	d.checkOverride(w, publishers)
	d.log.Info(fmt.Sprintf("Subscribed to topic '%s'", name))
}

// addClass makes the subscription of w for the class of profile, and the topic in the bag with its first one.
func (d *discovery) addClass(w *watched, profile qos.Profile) error {
	first := len(w.classes) == 0
	if !first {
		w.compare.Store(true)
	}
	made, err := d.table.subscribe(w.topic, profile, func() {
		if first {
			d.table.add(w.topic)
			d.rec.addTopic(w.topic, w.described())
		}
	})
	if err != nil {
		return err
	}
	w.classes[classOf(profile)] = &subscription{source: made, depth: profile.Depth, made: time.Now()}
	return nil
}

// complain logs once why a topic is not subscribed. A type that this machine does not have is final for this bag; any
// other reason is tried again.
func (d *discovery) complain(w *watched, err error) {
	if errors.Is(err, node.ErrNotInstalled) {
		d.refused[w.name] = true
		d.log.Warn(fmt.Sprintf("Topic '%s' has unknown type '%s'. Only topics with known types are recorded. Reason: %v",
			w.name, w.typ, err))
		return
	}
	d.unfinished = true
	d.warnOnce(w.name, "topic can not be subscribed", zap.String("topic", w.name), zap.String("type", w.typ), zap.Error(err))
}

func (d *discovery) warnOnce(key, message string, fields ...zap.Field) {
	if d.first(key) {
		d.log.Warn(message, fields...)
	}
}

// first says whether this is the first complaint of its kind in this bag.
func (d *discovery) first(key string) bool {
	before := d.warned[key]
	d.warned[key] = true
	return !before
}

// refreshOffers brings subscriptions and recorded offers in step with the publishers of today.
func (d *discovery) refreshOffers(now time.Time) {
	d.offersStale = false
	for _, w := range d.watched {
		publishers, err := d.env.Graph.Publishers(w.name)
		if err != nil {
			d.warnOnce(w.name, "publishers can not be listed", zap.String("topic", w.name), zap.Error(err))
			d.offersStale = true
			continue
		}
		if len(publishers) > 0 {
			w.keep = keptBy(publishers)
		}
		if w.addOffers(publishers) {
			d.rec.updateTopic(w.topic, slices.Clone(w.meta.OfferedQoS))
		}
		d.rec.silence.see(w.topic, publishers)
		d.checkOverride(w, publishers)
		if w.override == nil {
			d.adapt(w, publishers, now)
		}
	}
}

// checkOverride warns once about publishers that an override shuts out.
func (d *discovery) checkOverride(w *watched, publishers []node.Endpoint) {
	if w.override == nil {
		return
	}
	for _, p := range publishers {
		if policy, refused := refuses(*w.override, p.QoS); refused {
			d.warnOnce("override of "+w.name, "the override asks for more than a publisher offers, nothing of it will be recorded",
				zap.String("topic", w.name), zap.String("policy", policy), zap.String("publisher", cmp.Or(p.FullNodeName(), "of a node that is not known yet")))
		}
	}
}

// adapt makes what is missing before it breaks what is no longer needed. A topic without publishers keeps all it has.
func (d *discovery) adapt(w *watched, publishers []node.Endpoint, now time.Time) {
	if len(publishers) == 0 {
		return
	}
	wanted := map[class]bool{}
	for _, profile := range subscriptionProfiles(publishers, d.opts.Depth) {
		c := classOf(profile)
		wanted[c] = true
		if sub := w.classes[c]; sub != nil {
			sub.goneFrom = time.Time{}
			continue
		}
		if err := d.addClass(w, profile); err != nil {
			d.warnOnce(w.name, "topic can not be subscribed for a new publisher", zap.String("topic", w.name), zap.Error(err))
			d.offersStale = true
			return
		}
		d.log.Debug("subscription added for other publishers", zap.String("topic", w.name))
	}
	for c, sub := range w.classes {
		if wanted[c] {
			continue
		}
		if sub.goneFrom.IsZero() {
			sub.goneFrom = now
		}
		if now.Sub(sub.goneFrom) < retireAfter {
			d.offersStale = true // look again when it is due
			continue
		}
		delete(w.classes, c)
		if err := d.table.unsubscribe(sub.id); err != nil {
			d.log.Warn("subscription did not end", zap.String("topic", w.name), zap.Error(err))
		}
	}
}

// addOffers notes the offers of publishers not seen before and says whether there were any.
func (w *watched) addOffers(publishers []node.Endpoint) bool {
	added := false
	for _, p := range publishers {
		if !w.publishers[p.GID] && len(w.publishers) < offersPerTopic {
			w.publishers[p.GID] = true
			w.meta.OfferedQoS = append(w.meta.OfferedQoS, p.QoS)
			added = true
		}
	}
	return added
}

// described is what is known of the topic, for another goroutine.
func (w *watched) described() storage.Topic {
	meta := w.meta
	meta.OfferedQoS = slices.Clone(meta.OfferedQoS)
	return meta
}
