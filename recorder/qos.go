package recorder

import (
	"cmp"
	"slices"

	"rosbagd/node"
	"rosbagd/storage/qos"
)

// class is what must fit between a publisher and a subscription for all messages to arrive, the latched ones too.
type class struct{ reliable, transientLocal bool }

func classOf(p qos.Profile) class {
	return class{reliable: p.Reliability == qos.Reliable, transientLocal: p.Durability == qos.TransientLocal}
}

// classesOf lists the classes that publishers offer, each once, the strictest first.
func classesOf(publishers []node.Endpoint) []class {
	var classes []class
	for _, p := range publishers {
		if c := classOf(p.QoS); !slices.Contains(classes, c) {
			classes = append(classes, c)
		}
	}
	slices.SortFunc(classes, func(a, b class) int { return cmp.Compare(b.rank(), a.rank()) })
	return classes
}

func (c class) rank() int {
	n := 0
	if c.reliable {
		n += 2
	}
	if c.transientLocal {
		n++
	}
	return n
}

// profile is the subscription that fits c. Deadline, lifespan and liveliness are left unspecified: they would only
// keep publishers out.
func (c class) profile(depth int) qos.Profile {
	p := qos.Profile{
		History: qos.KeepLast, Depth: depth,
		Reliability: qos.BestEffort, Durability: qos.Volatile, Liveliness: qos.LivelinessSystemDefault,
	}
	if c.reliable {
		p.Reliability = qos.Reliable
	}
	if c.transientLocal {
		p.Durability = qos.TransientLocal
	}
	return p
}

// subscriptionProfiles adapts to the publishers of a topic: one profile for each class of reliability and durability
// among them. One subscription that fits them all would have to be best effort and volatile, and would lose what the
// better ones keep for late joiners. depth is used within 1 and MaxDepth, and raised to what the publishers keep.
func subscriptionProfiles(publishers []node.Endpoint, depth int) []qos.Profile {
	depth = historyDepth(depth, 0, 0, keptBy(publishers))
	profiles := make([]qos.Profile, 0, 1)
	for _, c := range classesOf(publishers) {
		profiles = append(profiles, c.profile(depth))
	}
	if len(profiles) == 0 {
		p := qos.Default()
		p.Depth = depth
		return []qos.Profile{p}
	}
	return profiles
}

// refuses says whether a subscription gets nothing from a publisher, and what keeps them apart: a subscription that asks
// for more than is offered is never matched.
func refuses(asked, offered qos.Profile) (policy string, refused bool) {
	switch {
	case asked.Reliability == qos.Reliable && offered.Reliability == qos.BestEffort:
		return "reliability", true
	case asked.Durability == qos.TransientLocal && offered.Durability == qos.Volatile:
		return "durability", true
	}
	return "", false
}

// commonHash is the type hash of the publishers; empty when one has none, and not agreed when two differ.
func commonHash(publishers []node.Endpoint) (hash string, agreed bool) {
	for i, p := range publishers {
		switch {
		case i == 0:
			hash = p.TypeHash
		case p.TypeHash == "" || hash == "":
			hash = ""
		case p.TypeHash != hash:
			return "", false
		}
	}
	return hash, true
}
