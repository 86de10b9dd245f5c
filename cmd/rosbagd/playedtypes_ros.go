//go:build ros

package main

import (
	"errors"

	"go.uber.org/zap"

	"rosbagd/bag"
	"rosbagd/msgs/definition"
	"rosbagd/node"
	"rosbagd/player"
	"rosbagd/storage"
	"rosbagd/storage/qos"
)

// publishers makes the publishers of a bag. Types that are not installed are announced as the bag has them: with the
// recorded hash, and with the definition that belongs to it.
type publishers struct {
	node   *node.Node
	bag    *bag.Reader
	search definition.Search // for what the bag lacks
	log    *zap.Logger
	said   map[node.Type]bool
}

func (p publishers) CreatePublisher(topic, typ string, profile qos.Profile) (player.Publisher, error) {
	if !p.node.Installed(typ) {
		p.describe(topic, typ)
	}
	publisher, err := p.node.CreatePublisher(topic, typ, profile)
	if err != nil {
		return nil, err
	}
	return publisher, nil
}

// describe tells the node what is known of a type, and warns once when that is no more than its name and hash.
func (p publishers) describe(topic, typ string) {
	recorded, err := p.recorded(topic, typ)
	if err == nil {
		err = p.node.Describe(recorded)
	}
	if err == nil && recorded.Definition.Encoding != "" {
		return
	}
	bare := node.Type{Name: typ, Hash: recorded.Hash}
	if given, searchErr := p.search.Definition(typ, bare.Hash); searchErr == nil {
		if p.node.Describe(node.Type{Name: typ, Hash: bare.Hash, Definition: given}) == nil {
			return
		}
	}
	err = errors.Join(err, p.node.Describe(bare))
	if p.said[bare] {
		return
	}
	p.said[bare] = true
	fields := []zap.Field{zap.String("type", typ), zap.String("topic", topic)}
	if err != nil {
		fields = append(fields, zap.Error(err))
	}
	p.log.Warn("type is not installed and the bag has no usable definition of it, it is played without; --msg-path can bring it", fields...)
}

func (p publishers) recorded(topic, typ string) (node.Type, error) {
	for id, info := range p.bag.Topics() {
		if info.Name == topic && info.Type == typ {
			d, err := p.bag.Definition(storage.TopicID(id))
			return node.Type{Name: typ, Hash: info.TypeHash, Definition: d}, err
		}
	}
	return node.Type{Name: typ}, nil
}
