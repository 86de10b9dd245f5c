package param

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestValuesKeepWhatTheyWereMadeOf(t *testing.T) {
	words := []string{"a", "b"}
	value := Of(words)
	words[0] = "changed"
	got, ok := As[[]string](value)
	require.True(t, ok)
	require.Equal(t, []string{"a", "b"}, got)
	got[1] = "changed"
	require.Equal(t, `["a", "b"]`, value.String())

	_, ok = As[int64](value)
	require.False(t, ok)
	_, ok = As[bool](Value{})
	require.False(t, ok)
}

func TestValuesAreEqualByTypeAndContent(t *testing.T) {
	different := []Value{
		{},
		Of(true), Of(false), Of(int64(1)), Of(1.0), Of("1"), Of("true"), Of([]byte{1}), Of([]bool{true}),
		Of([]int64{1}), Of([]float64{1}), Of([]string{"1"}), Of([]string{}), Of([]int64{}), Of(math.NaN()),
		Of([]float64{math.NaN()}),
	}
	for i, a := range different {
		for j, b := range different {
			require.Equal(t, i == j, a.Equal(b), "%v of type %v, %v of type %v", a, a.Type(), b, b.Type())
		}
	}
}

func TestValuesAreWrittenAsInAFile(t *testing.T) {
	for want, value := range map[string]Value{
		"not set": {}, "true": Of(true), "-3": Of(int64(-3)), "2.0": Of(2.0), "1e+30": Of(1e30), "0.5": Of(0.5),
		".nan": Of(math.NaN()), "-.inf": Of(math.Inf(-1)), `"a b"`: Of("a b"), "[0x01, 0xff]": Of([]byte{1, 255}),
		"[]": Of([]bool(nil)), "[1, 2]": Of([]int64{1, 2}), "[1.0, .inf]": Of([]float64{1, math.Inf(1)}),
	} {
		require.Equal(t, want, value.String())
	}
	require.Equal(t, "string_array", StringArray.String())
	require.Equal(t, "unknown type 77", Type(77).String())
}

// values draws values of all types.
func values() *rapid.Generator[Value] {
	return rapid.OneOf(
		rapid.Map(rapid.Bool(), Of[bool]),
		rapid.Map(rapid.Int64(), Of[int64]),
		rapid.Map(rapid.Float64(), Of[float64]),
		rapid.Map(rapid.String(), Of[string]),
		rapid.Map(rapid.SliceOf(rapid.Byte()), Of[[]byte]),
		rapid.Map(rapid.SliceOf(rapid.Bool()), Of[[]bool]),
		rapid.Map(rapid.SliceOf(rapid.Int64()), Of[[]int64]),
		rapid.Map(rapid.SliceOf(rapid.Float64()), Of[[]float64]),
		rapid.Map(rapid.SliceOf(rapid.String()), Of[[]string]),
	)
}
