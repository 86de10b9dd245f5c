package player

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rosbagd/clock"
	"rosbagd/storage/qos"
)

// lateness is a publisher that notes how late each message is; its player sets due.
type lateness struct {
	player *Player
	due    func(n int) clock.Time
	late   []time.Duration
}

func (l *lateness) CreatePublisher(string, string, qos.Profile) (Publisher, error) { return l, nil }

func (l *lateness) Publish([]byte) error {
	l.late = append(l.late, l.player.Now().Sub(l.due(len(l.late))))
	return nil
}

func (l *lateness) WaitAcked(time.Duration) (bool, error) { return true, nil }

func (l *lateness) Close() error { return nil }

// played plays an even bag on the system's clock and gives how late each message was.
func played(t testing.TB, count int, interval time.Duration, rate float64) []time.Duration {
	publisher := &lateness{due: func(n int) clock.Time { return bagStart.Add(time.Duration(n) * interval) }}
	p, err := New(evenBag(count, interval), Connections{Publishers: publisher}, Options{Rate: rate})
	require.NoError(t, err)
	publisher.player = p
	require.NoError(t, p.Run(t.Context()))
	return publisher.late
}

func TestOnTheSystemsClockNothingIsEarly(t *testing.T) {
	late := played(t, 200, 5*time.Millisecond, 50)
	require.Len(t, late, 200)
	require.GreaterOrEqual(t, slices.Min(late), time.Duration(0))
}

// BenchmarkPlay reports how late messages are at 1 kHz, and how many a second go out when all are due.
func BenchmarkPlay(b *testing.B) {
	b.Run("1kHz", func(b *testing.B) {
		late := played(b, b.N, time.Millisecond, 1)
		slices.Sort(late)
		for _, percent := range []int{50, 99} {
			b.ReportMetric(float64(late[len(late)*percent/100].Microseconds()), fmt.Sprintf("us-p%d", percent))
		}
		b.ReportMetric(float64(late[len(late)-1].Microseconds()), "us-max")
	})
	b.Run("flat", func(b *testing.B) {
		b.ReportAllocs()
		played(b, b.N, time.Nanosecond, 1000)
	})
}
