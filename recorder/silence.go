package recorder

import (
	"context"
	"os"
	"path"
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"

	"rosbagd/node"
)

// silentAfter is how long a publisher is given before its silence is looked into.
const silentAfter = 5 * time.Second

// silenceLooks is the time between two looks at those whose time is up.
const silenceLooks = time.Second

// nameUnknown is what the graph shows for the node of a publisher that has not introduced itself.
const nameUnknown = "_NODE_NAME_UNKNOWN_"

// silence looks for publishers that are matched and alive, and of which nothing can come. That no message comes is no
// evidence: most topics are idle most of the time. But every node tells its name in a message of the middleware, which
// takes the same way as all others: where neither a name nor a message has come, nothing may come through. It warns where
// it can name what keeps the messages away. An idle graph costs nothing: publishers are shown to it when they change.
type silence struct {
	log    *zap.Logger
	graph  Graph
	node   string // our own, fully qualified
	memory sharedMemory
	pid    int

	mu     sync.Mutex
	topics map[string]map[node.GID]*shown // guarded by mu: by topic, the publishers that are there

	told map[string]bool // topics that were warned of; of the goroutine of run
}

// heard are the publishers of a topic of which a message has come.
type heard struct {
	mu   sync.Mutex
	from map[node.GID]bool // guarded by mu
}

func (h *heard) add(gid node.GID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.from == nil {
		h.from = map[node.GID]bool{}
	}
	h.from[gid] = true
}

func (h *heard) remove(gid node.GID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.from, gid)
}

func (h *heard) has(gid node.GID) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.from[gid]
}

// shown is a publisher of a recorded topic.
type shown struct {
	topic    *topic
	endpoint node.Endpoint
	since    time.Time
	settled  bool // it was looked into
}

func newSilence(env Environment, nodeName string) *silence {
	return &silence{
		log: env.Logger, graph: env.Graph, node: nodeName, memory: systemSharedMemory(), pid: os.Getpid(),
		topics: map[string]map[node.GID]*shown{}, told: map[string]bool{},
	}
}

// see is shown the publishers that a recorded topic has now.
func (s *silence) see(tp *topic, publishers []node.Endpoint) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before, now := s.topics[tp.name], time.Now()
	there := make(map[node.GID]*shown, len(publishers))
	for _, p := range publishers {
		if old := before[p.GID]; old != nil {
			old.endpoint = p
			there[p.GID] = old
			continue
		}
		there[p.GID] = &shown{topic: tp, endpoint: p, since: now}
	}
	s.topics[tp.name] = there
}

// run looks into the silence of each publisher once, until ctx ends.
func (s *silence) run(ctx context.Context) {
	for waitFor(ctx, silenceLooks) {
		if nameless := s.nameless(time.Now()); len(nameless) > 0 {
			s.judge(nameless)
		}
	}
}

// nameless are the publishers that have had their time, are not heard, and whose node is not known. Each is given once.
func (s *silence) nameless(now time.Time) []shown {
	s.mu.Lock()
	defer s.mu.Unlock()
	var nameless []shown
	for _, publishers := range s.topics {
		for _, p := range publishers {
			if p.settled || now.Sub(p.since) < silentAfter {
				continue
			}
			p.settled = true
			if p.endpoint.NodeName == nameUnknown && !p.topic.streams.heard.has(p.endpoint.GID) {
				nameless = append(nameless, *p)
			}
		}
	}
	return nameless
}

func (s *silence) judge(nameless []shown) {
	owners := s.memory.owners()
	for _, p := range nameless {
		if s.told[p.topic.name] || !s.stillNameless(p) {
			continue
		}
		topic := zap.String("topic", p.topic.name)
		pid, uid, foreign := foreignOwner(owners, s.pid, p.endpoint.GID)
		switch {
		case foreign && s.sameHost(p.endpoint.GID):
			s.told[p.topic.name] = true
			s.log.Warn("nothing of a publisher can be recorded, it runs as another user and shared memory does not reach across users: "+
				remedy(), topic, zap.Int("pid", pid), zap.String("process", processName(pid)),
				zap.String("user", userName(uid)), zap.String("own_user", userName(owners[s.pid].uid)))
		default:
			s.told[p.topic.name] = true
			// A program that uses the middleware without ROS has no name either, and may just be idle.
			s.log.Info("a publisher is matched, but neither a message nor the name of its node has come from it", topic)
		}
	}
}

// stillNameless asks the graph, which says nothing by itself when a name comes after its publisher.
func (s *silence) stillNameless(p shown) bool {
	publishers, err := s.graph.Publishers(p.topic.name)
	return err == nil && slices.ContainsFunc(publishers, func(now node.Endpoint) bool {
		return now.GID == p.endpoint.GID && now.NodeName == nameUnknown
	})
}

// sameHost says whether a publisher is on this machine. What a GID says of the host is compared with a GID of our own,
// found by name; where the process is not in its place there, this is a middleware that makes GIDs in another way.
func (s *silence) sameHost(gid node.GID) bool {
	for _, topic := range []string{"/rosout", path.Join(path.Dir(s.node), "events/write_split")} {
		publishers, err := s.graph.Publishers(topic)
		if err != nil {
			continue
		}
		for _, p := range publishers {
			if path.Join(p.NodeNamespace, p.NodeName) == s.node && processOf(p.GID) == processBits(s.pid) {
				return hostOf(p.GID) == hostOf(gid)
			}
		}
	}
	return false
}
