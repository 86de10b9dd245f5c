package node

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rosbagd/storage/qos"
)

func TestMiddlewareRules(t *testing.T) {
	for identifier, want := range map[string]Middleware{
		"rmw_fastrtps_cpp":         {Known: true, Stamping: StampedAtArrival, Numbered: true, HistoryLimit: 5000},
		"rmw_fastrtps_dynamic_cpp": {Known: true, Stamping: StampedAtArrival, Numbered: true, HistoryLimit: 5000},
		"rmw_cyclonedds_cpp":       {Known: true, Stamping: StampedAtTake},
		"rmw_connextdds":           {Known: true, Stamping: StampedAtArrival, Numbered: true},
		"rmw_zenoh_cpp":            {Known: true, Stamping: StampedAtArrival, Numbered: true},
		"rmw_new_cpp":              {Stamping: StampedAtTake, Numbered: true},
	} {
		want.Identifier = identifier
		require.Equal(t, want, MiddlewareOf(identifier))
	}
}

func TestHistoriesKeepTheNewest(t *testing.T) {
	keep := func(h qos.History, depth int) qos.Profile { return qos.Profile{History: h, Depth: depth} }
	for name, tc := range map[string]struct {
		identifier string
		asked, got qos.Profile
	}{
		"unlimited":        {"rmw_fastrtps_cpp", keep(qos.KeepAll, 0), keep(qos.KeepLast, 5000)},
		"too deep":         {"rmw_fastrtps_cpp", keep(qos.KeepLast, 5001), keep(qos.KeepLast, 5000)},
		"deep":             {"rmw_fastrtps_cpp", keep(qos.KeepLast, 5000), keep(qos.KeepLast, 5000)},
		"no limit, no fit": {"rmw_zenoh_cpp", keep(qos.KeepAll, 0), keep(qos.KeepAll, 0)},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, tc.got, MiddlewareOf(tc.identifier).fit(tc.asked))
		})
	}
}

// Batches are gathered for 10 ms; stamps are made when a message arrives, or when it is taken.
func TestStampsAreJudged(t *testing.T) {
	const ms = int64(time.Millisecond)
	arrival := func(int) func(began int64) []Message {
		return func(began int64) []Message {
			return []Message{
				{ReceivedNanos: began - 10*ms, SourceNanos: began - 11*ms},
				{ReceivedNanos: began - 5*ms, SourceNanos: began - 6*ms},
				{ReceivedNanos: began + ms, SourceNanos: began},
			}
		}
	}
	take := func(int) func(began int64) []Message {
		return func(began int64) []Message {
			return []Message{{ReceivedNanos: began, SourceNanos: began - 11*ms}, {ReceivedNanos: began + 1, SourceNanos: began - 6*ms}}
		}
	}
	for name, tc := range map[string]struct {
		batch func(n int) func(began int64) []Message
		want  stampReport
	}{
		"at arrival": {arrival, stampReport{Stamping: StampedAtArrival, Clear: true, Messages: 60, Delay: time.Millisecond, Wait: 5 * time.Millisecond}},
		"when taken": {take, stampReport{Stamping: StampedAtTake, Clear: true, Messages: 40, Delay: 11 * time.Millisecond}},
		"not at all": {
			func(int) func(int64) []Message {
				return func(int64) []Message { return []Message{{Sequence: NoSequence}} }
			},
			stampReport{Stamping: StampedAtTake, Clear: true, Messages: 20, Unstamped: 20, Unnumbered: 20},
		},
		"some while others were taken": {
			func(n int) func(int64) []Message {
				if n == 0 {
					return take(n)
				}
				return arrival(n)
			},
			stampReport{Stamping: StampedAtArrival, Clear: true, Messages: 59, Delay: time.Millisecond, Wait: 5 * time.Millisecond},
		},
		"sometimes": {
			func(n int) func(int64) []Message {
				if n < 12 {
					return take(n)
				}
				return arrival(n)
			},
			stampReport{Stamping: StampedAtTake, Messages: 48, Delay: 6*time.Millisecond + 1},
		},
		"by a clock behind the sender's": {
			func(int) func(int64) []Message {
				return func(began int64) []Message {
					return []Message{{ReceivedNanos: began - 10*ms, SourceNanos: began + 990*ms}}
				}
			},
			stampReport{Stamping: StampedAtArrival, Clear: true, Messages: 20, Delay: -time.Second, Wait: 10 * time.Millisecond},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var c stampCheck
			for n := range checkedBatches {
				_, due := c.look(nil, 1)
				require.False(t, due, "what has no messages is no evidence")
				began := int64(n+1) * int64(time.Second)
				report, due := c.look(tc.batch(n)(began), began)
				require.Equal(t, n == checkedBatches-1, due)
				if due {
					require.Equal(t, tc.want, report)
				}
			}
			_, due := c.look([]Message{{}}, 1)
			require.False(t, due, "once")
		})
	}
}

func TestStampsThatContradictTheTable(t *testing.T) {
	fast, cyclone := MiddlewareOf("rmw_fastrtps_cpp"), MiddlewareOf("rmw_cyclonedds_cpp")
	late, early := stampReport{Stamping: StampedAtTake, Clear: true}, stampReport{Stamping: StampedAtArrival, Clear: true}
	require.True(t, late.contradicts(fast))
	require.False(t, stampReport{Stamping: StampedAtTake}.contradicts(fast), "not clear")
	require.False(t, early.contradicts(fast))
	require.False(t, late.contradicts(cyclone))
	require.False(t, early.contradicts(cyclone), "better than promised")
}

func TestWhatTheMiddlewareLeavesOut(t *testing.T) {
	messages := []Message{{Sequence: 7}, {ReceivedNanos: 5, Sequence: 0}, {ReceivedNanos: 6, SourceNanos: 4, Sequence: NoSequence}}
	complete(messages, true, 9)
	require.Equal(t, []Message{
		{ReceivedNanos: 9, SourceNanos: 9, Sequence: 7},
		{ReceivedNanos: 5, SourceNanos: 5, Sequence: NoSequence},
		{ReceivedNanos: 6, SourceNanos: 4, Sequence: NoSequence},
	}, messages)
	complete(messages, false, 9)
	require.Equal(t, NoSequence, messages[0].Sequence)
}
