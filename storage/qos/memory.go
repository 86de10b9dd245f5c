package qos

import (
	"slices"
	"strings"
	"sync"
)

// Every file of a bag repeats the same few texts, and YAML costs more than all else that opening a file takes.
const (
	rememberedTexts = 256
	rememberedText  = 8 << 10 // bytes; a text of 20 publishers
)

var remembered = struct {
	mu    sync.Mutex
	offer map[string][]Profile
}{offer: map[string][]Profile{}}

// DecodeText reads the text of an offered_qos_profiles entry, as channel metadata, database columns and metadata
// versions 4 to 8 keep it. An empty text is no offer.
func DecodeText(text string) ([]Profile, error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	remembered.mu.Lock()
	profiles, ok := remembered.offer[text]
	remembered.mu.Unlock()
	if ok {
		return slices.Clone(profiles), nil
	}
	profiles, err := decodeText(text)
	if err != nil || len(text) > rememberedText {
		return profiles, err
	}
	remembered.mu.Lock()
	defer remembered.mu.Unlock()
	if len(remembered.offer) >= rememberedTexts {
		clear(remembered.offer)
	}
	remembered.offer[strings.Clone(text)] = slices.Clone(profiles)
	return profiles, nil
}
