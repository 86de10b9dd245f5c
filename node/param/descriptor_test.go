package param

import (
	"math"
	"math/big"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestDoubleRanges(t *testing.T) {
	for name, tc := range map[string]struct {
		r         DoubleRange
		good, bad []float64
	}{
		"continuous": {DoubleRange{From: 0.5, To: 2}, []float64{0.5, 1.1, 2}, []float64{0.49, 2.01, math.NaN(), math.Inf(1), math.Inf(-1)}},
		"steps":      {DoubleRange{From: 2, To: 5, Step: 2}, []float64{2, 4, 5}, []float64{3, 4.5, 1, 6}},
		"tenths":     {DoubleRange{From: 0, To: 1, Step: 0.1}, []float64{0.1 + 0.2, 0.7, 1}, []float64{0.35}},
		"backwards":  {DoubleRange{From: 0, To: 10, Step: -5}, []float64{0, 5, 10}, []float64{1}},
		"wide step":  {DoubleRange{From: 1, To: 2, Step: 5}, []float64{1, 2}, []float64{1.5}},
		"finite":     {DoubleRange{From: 1e-6, To: math.MaxFloat64}, []float64{1e-6, 1e300, math.MaxFloat64}, []float64{0, -1, math.Inf(1), math.NaN()}},
	} {
		t.Run(name, func(t *testing.T) {
			d := Descriptor{DoubleRange: &tc.r}
			for _, v := range tc.good {
				require.NoError(t, d.check(Double, Of(v)), v)
			}
			for _, v := range tc.bad {
				require.ErrorIs(t, d.check(Double, Of(v)), ErrRange, v)
				require.ErrorIs(t, d.check(DoubleArray, Of([]float64{tc.r.From, v})), ErrRange, v)
			}
		})
	}
}

// The range of integers is compared with numbers that have no limit.
func TestIntegerRangesAreExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		from, to, v := rapid.Int64().Draw(t, "from"), rapid.Int64().Draw(t, "to"), rapid.Int64().Draw(t, "v")
		step := rapid.Uint64().Draw(t, "step")
		want := v == from || v == to
		if v > from && v < to {
			distance := new(big.Int).Sub(big.NewInt(v), big.NewInt(from))
			want = want || step == 0 || new(big.Int).Mod(distance, new(big.Int).SetUint64(step)).Sign() == 0
		}
		d := Descriptor{IntegerRange: &IntegerRange{From: from, To: to, Step: step}}
		require.Equal(t, want, d.check(Integer, Of(v)) == nil)
		require.Equal(t, want, d.check(IntegerArray, Of([]int64{from, v, to})) == nil)
	})
}

func TestRefusalsSayWhatIsAllowed(t *testing.T) {
	for want, err := range map[string]error{
		"value is out of range: 7, it must be from 0 to 5": (&Descriptor{IntegerRange: &IntegerRange{0, 5, 0}}).check(Integer, Of(int64(7))),
		"value is out of range: 3, it must be from 0 to 4 in steps of 2": (&Descriptor{IntegerRange: &IntegerRange{0, 4, 2}}).
			check(Integer, Of(int64(3))),
		"value is out of range: -1, it must be 0 or more": (&Descriptor{IntegerRange: &IntegerRange{0, math.MaxInt64, 0}}).
			check(Integer, Of(int64(-1))),
		"value is out of range: 1, it must be 0 or less": (&Descriptor{IntegerRange: &IntegerRange{math.MinInt64, 0, 0}}).
			check(Integer, Of(int64(1))),
		"value is out of range: .inf, it must be a finite number of 1e-06 or more": (&Descriptor{DoubleRange: &DoubleRange{1e-6, math.MaxFloat64, 0}}).
			check(Double, Of(math.Inf(1))),
		"value is out of range: 1.0, it must be a finite number of 0.0 or less": (&Descriptor{DoubleRange: &DoubleRange{-math.MaxFloat64, 0, 0}}).
			check(Double, Of(1.0)),
		"value is out of range: 0.3, it must be from 0.0 to 1.0 in steps of 0.5": (&Descriptor{DoubleRange: &DoubleRange{0, 1, 0.5}}).
			check(Double, Of(0.3)),
		"wrong type: 2 is of type integer, it must be of type double, write 2.0": (&Descriptor{}).check(Double, Of(int64(2))),
		`wrong type: "x" is of type string, it must be of type bool`:             (&Descriptor{}).check(Bool, Of("x")),
	} {
		require.EqualError(t, err, want)
	}
	words := Descriptor{Words: []string{"sent", "received"}}
	require.NoError(t, words.check(String, Of("sent")))
	require.EqualError(t, words.check(String, Of("")), `value is out of range: "", it must be one of sent, received`)
	require.NoError(t, (&Descriptor{DynamicTyping: true}).check(Bool, Of("x")))
}
