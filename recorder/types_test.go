package recorder

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"rosbagd/msgs/definition"
	"rosbagd/node"
	"rosbagd/storage"
)

// fakeNodes answer inquiries; a node that is not in answers never does.
type fakeNodes struct {
	mu      sync.Mutex
	answers map[string]storage.Definition // by node
	after   time.Duration
	asked   []string
	told    []node.Type // what Describe was told
}

func (n *fakeNodes) Inquire(ctx context.Context, name, typ, _ string) (storage.Definition, error) {
	n.mu.Lock()
	n.asked = append(n.asked, name+" "+typ)
	found, ok := n.answers[name]
	n.mu.Unlock()
	if !ok {
		<-ctx.Done()
		return storage.Definition{}, ctx.Err()
	}
	timer := time.NewTimer(n.after)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		return storage.Definition{}, ctx.Err()
	}
	if found.Encoding == "" {
		return storage.Definition{}, errors.New("never heard of it")
	}
	return found, nil
}

func (n *fakeNodes) Describe(t node.Type) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.told = append(n.told, t)
	return nil
}

func (n *fakeNodes) questions() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	asked := slices.Clone(n.asked)
	slices.Sort(asked)
	return asked
}

var casper = storage.Definition{Encoding: "ros2msg", Text: "string boo\n"}

const casperType = "ghosts/msg/Casper"

// ghost is a publisher of casperType on a node.
func ghost(t *testing.T, gid byte, nodeName string) node.Endpoint {
	described, _, err := definition.Describe(casperType, casper)
	require.NoError(t, err)
	p := volatilePublisher(gid)
	p.Type, p.TypeHash, p.NodeName, p.NodeNamespace = casperType, described.Hash(), nodeName, "/far"
	return p
}

// amongNodes runs a recorder that asks nodes.
func amongNodes(t *testing.T, opts Options, nodes *fakeNodes, test func(h *harness)) {
	inBubble(t, opts, func(h *harness) {
		h.Recorder.env.Inquirer, h.Recorder.env.Types = nodes, nodes
		test(h)
	})
}

func TestPublishersAreAskedForTheirTypes(t *testing.T) {
	nodes := &fakeNodes{answers: map[string]storage.Definition{"/far/b": casper}}
	amongNodes(t, Options{Filter: Filter{AllTopics: true}}, nodes, func(h *harness) {
		h.graph.set("/a", stringType, volatilePublisher(1))
		h.graph.set("/b", casperType, ghost(t, 2, "b"))
		h.graph.set("/c", casperType, ghost(t, 3, "b"))
		h.record()
		pass(time.Second)
		require.Equal(t, []string{"/far/b " + casperType}, nodes.questions(), "one question for a type and hash, none for what is known")
		require.Len(t, h.bag().allTopics(), 3)
		for _, topic := range h.bag().allTopics()[1:] {
			require.Equal(t, casper, topic.Definition)
			require.Equal(t, ghost(t, 2, "b").TypeHash, topic.TypeHash)
		}
		require.Contains(t, nodes.told, node.Type{Name: casperType, Hash: ghost(t, 2, "b").TypeHash, Definition: casper})
		require.Equal(t, 1, h.logged("is recorded with the definition that '/far/b' gave"))
	})
}

// TestNodeThatNeverAnswers holds nothing else up, and its topic only for a while.
func TestNodeThatNeverAnswers(t *testing.T) {
	nodes := &fakeNodes{}
	amongNodes(t, Options{Filter: Filter{AllTopics: true}}, nodes, func(h *harness) {
		h.graph.set("/a", stringType, volatilePublisher(1))
		h.graph.set("/b", casperType, ghost(t, 2, "b"))
		h.graph.set("/c", stringType, volatilePublisher(3))
		h.record()
		require.Len(t, h.sub.ids("/a"), 1)
		require.Len(t, h.sub.ids("/c"), 1)
		require.Empty(t, h.sub.ids("/b"))
		for range 20 {
			pass(inquiryLimit)
		}
		require.Len(t, h.sub.ids("/b"), 1)
		require.Zero(t, h.bag().allTopics()[2].Definition)
		require.Equal(t, ghost(t, 2, "b").TypeHash, h.bag().allTopics()[2].TypeHash)
		require.Equal(t, 1, h.logged("definition of a type was not found"))
		require.Len(t, nodes.questions(), 1)
	})
}

// TestNamedTopicsWaitForTheirTypes has an unknown type in the bag before recording is announced.
func TestNamedTopicsWaitForTheirTypes(t *testing.T) {
	for name, opts := range map[string]Options{
		"by name":      {Filter: Filter{Topics: []string{"/b"}}},
		"no discovery": {Filter: Filter{AllTopics: true}, NoDiscovery: true},
	} {
		t.Run(name, func(t *testing.T) {
			nodes := &fakeNodes{answers: map[string]storage.Definition{"/far/b": casper}, after: inquiryLimit / 2}
			amongNodes(t, opts, nodes, func(h *harness) {
				h.graph.set("/b", casperType, ghost(t, 2, "b"))
				h.record()
				if opts.NoDiscovery {
					pass(inquiryLimit)
				}
				require.Len(t, h.sub.ids("/b"), 1)
				require.Equal(t, casper, h.bag().allTopics()[0].Definition)
			})
		})
	}
}

func TestAnswersOfSeveralNodes(t *testing.T) {
	other := storage.Definition{Encoding: "ros2msg", Text: "int8 other\n"}
	for name, c := range map[string]struct {
		answers map[string]storage.Definition
		want    storage.Definition
	}{
		"the second answers":         {map[string]storage.Definition{"/far/b": {}, "/far/c": casper}, casper},
		"one describes another type": {map[string]storage.Definition{"/far/b": other, "/far/c": casper}, casper},
		"all describe another type":  {map[string]storage.Definition{"/far/b": other, "/far/c": other}, storage.Definition{}},
	} {
		t.Run(name, func(t *testing.T) {
			nodes := &fakeNodes{answers: c.answers}
			amongNodes(t, Options{Filter: Filter{AllTopics: true}}, nodes, func(h *harness) {
				nameless := ghost(t, 9, "_NODE_NAME_UNKNOWN_")
				h.graph.set("/b", casperType, nameless)
				h.record()
				require.Empty(t, nodes.questions())
				h.graph.set("/b", casperType, ghost(t, 2, "b"), ghost(t, 3, "c"), nameless)
				pass(2 * inquiryLimit)
				require.Len(t, nodes.questions(), 2)
				require.Equal(t, c.want, h.bag().allTopics()[0].Definition)
			})
		})
	}
}

// TestNodeThatDoesNotKnow costs nothing of what it publishes: when all have answered there is nothing to wait for.
func TestNodeThatDoesNotKnow(t *testing.T) {
	nodes := &fakeNodes{answers: map[string]storage.Definition{"/far/b": {}}, after: inquiryLimit / 4}
	amongNodes(t, Options{Filter: Filter{AllTopics: true}}, nodes, func(h *harness) {
		h.graph.set("/b", casperType, ghost(t, 2, "b"))
		h.record()
		pass(inquiryLimit / 2)
		require.Len(t, h.sub.ids("/b"), 1)
		require.Equal(t, 1, h.logged("definition of a type was not found"))
	})
}

// TestDefinitionOfAnotherVersion has a type here that is not the one that is published.
func TestDefinitionOfAnotherVersion(t *testing.T) {
	newer := volatilePublisher(1)
	newer.TypeHash, newer.NodeName, newer.NodeNamespace = "RIHS01_newer", "new", "/"
	nodes := &fakeNodes{}
	amongNodes(t, Options{Filter: Filter{AllTopics: true}}, nodes, func(h *harness) {
		h.graph.set("/a", stringType, newer)
		h.graph.set("/b", stringType, newer)
		h.record()
		pass(2 * inquiryLimit)
		require.Equal(t, []string{"/new " + stringType}, nodes.questions())
		require.Len(t, h.bag().allTopics(), 2)
		require.Equal(t, "string data\n", h.bag().allTopics()[0].Definition.Text, "better than nothing")
		require.Equal(t, "RIHS01_newer", h.bag().allTopics()[0].TypeHash)
		require.Equal(t, 1, h.logged("definition of a type is not the one that is published"))
	})
}

// TestEndWhileNodesAreAsked says the truth about a topic that did not make it.
func TestEndWhileNodesAreAsked(t *testing.T) {
	for name, filter := range map[string]Filter{"by name": {Topics: []string{"/b"}}, "all": {AllTopics: true}} {
		t.Run(name, func(t *testing.T) {
			amongNodes(t, Options{Filter: filter}, &fakeNodes{}, func(h *harness) {
				h.record()
				h.graph.set("/b", casperType, ghost(t, 2, "b"))
				synctest.Wait()
				require.NoError(t, h.Stop())
				require.Equal(t, 1, h.logged("while the type of a topic was asked for"))
				require.Zero(t, h.logged("was never seen"))
			})
		})
	}
}

// TestManyPublishersAreNotAllAsked bounds the questions about one type.
func TestManyPublishersAreNotAllAsked(t *testing.T) {
	nodes := &fakeNodes{}
	amongNodes(t, Options{Filter: Filter{AllTopics: true}}, nodes, func(h *harness) {
		var publishers []node.Endpoint
		for i := range byte(20) {
			publishers = append(publishers, ghost(t, i, fmt.Sprint("n", i)))
		}
		h.graph.set("/b", casperType, publishers...)
		h.record()
		synctest.Wait()
		require.Len(t, nodes.questions(), nodesPerInquiry)
		require.NoError(t, h.Stop(), "while they are asked")
	})
}
