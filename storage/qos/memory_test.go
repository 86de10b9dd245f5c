package qos

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestDecodeTextGivesEachCallerItsOwn: what one changes another does not see.
func TestDecodeTextGivesEachCallerItsOwn(t *testing.T) {
	const text = "- history: keep_last\n  depth: 7\n"
	first, err := DecodeText(text)
	require.NoError(t, err)
	first[0].Depth = 8
	for range 2 {
		next, err := DecodeText(text)
		require.NoError(t, err)
		require.EqualValues(t, 7, next[0].Depth)
		next[0].Depth = 9
	}
}

func TestDecodeTextRemembersFewTexts(t *testing.T) {
	for i := range 3 * rememberedTexts {
		profiles, err := DecodeText(fmt.Sprintf("- depth: %d\n", i))
		require.NoError(t, err)
		require.EqualValues(t, i, profiles[0].Depth)
	}
	require.LessOrEqual(t, len(remembered.offer), rememberedTexts)
}
