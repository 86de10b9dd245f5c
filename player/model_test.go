package player

import (
	"errors"
	"fmt"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"rosbagd/clock"
)

// model is what a player should do, said as simply as possible. Times are from the start of the bag.
type model struct {
	at      []time.Duration // of the messages
	playing bool
	paused  bool
	rate    float64
	now     time.Duration
	next    int
	count   int // messages within the limit
	heard   []string
}

// settle plays what is due at this instant.
func (m *model) settle() {
	for m.playing && !m.paused {
		if m.next >= m.count {
			m.playing = false
			return
		}
		if m.at[m.next] > m.now {
			return
		}
		m.hear()
	}
}

func (m *model) hear() {
	m.heard = append(m.heard, fmt.Sprint(m.next))
	m.next++
}

func (m *model) pass(wall time.Duration) {
	end := m.now + time.Duration(float64(wall)*m.rate)
	for m.playing && !m.paused {
		if m.at[m.next] > end { // after settle there is a next one
			m.now = end
			return
		}
		m.now = m.at[m.next]
		m.settle()
	}
}

func (m *model) goTo(place time.Duration) {
	m.now = max(place, 0)
	m.next = 0
	for m.next < m.count && m.at[m.next] < m.now {
		m.next++
	}
}

func (m *model) play(limited bool, duration time.Duration) error {
	if m.playing {
		return ErrPlaying
	}
	m.playing, m.count = true, len(m.at)
	if limited {
		m.count = 0
		for duration > 0 && m.count < len(m.at) && m.at[m.count] <= duration {
			m.count++
		}
	}
	m.goTo(0)
	return nil
}

func (m *model) burst(n int) (int, error) {
	switch {
	case !m.paused:
		return 0, ErrNotPaused
	case !m.playing:
		return 0, ErrNotPlaying
	}
	sent := 0
	for m.next < m.count && (n == 0 || sent < n) {
		m.now = max(m.now, m.at[m.next])
		m.hear()
		sent++
	}
	return sent, nil
}

// order is a command with its argument.
type order struct {
	name string
	arg  int
}

func orders() *rapid.Generator[order] {
	return rapid.Custom(func(t *rapid.T) order {
		name := rapid.SampledFrom([]string{
			"pass", "pass", "pass", "pause", "resume", "toggle", "next", "next", "burst", "rate", "seek", "play", "limited", "stop",
		}).Draw(t, "command")
		return order{name, rapid.IntRange(-3, 40).Draw(t, "argument")}
	})
}

// obey gives the order to both and compares the answers.
func (m *model) obey(s *stage, o order) error {
	unit := 10 * ms
	place := time.Duration(o.arg) * unit
	var want, got error
	switch o.name {
	case "pass":
		pass(max(place, 0))
		m.pass(max(place, 0))
	case "pause":
		s.player.Pause()
		m.paused = true
	case "resume":
		s.player.Resume()
		m.paused = false
	case "toggle":
		s.player.TogglePaused()
		m.paused = !m.paused
	case "next":
		got = s.player.PlayNext(s.t.Context())
		sent := 0
		sent, want = m.burst(1)
		if want == nil && sent == 0 {
			want = ErrEnd
		}
	case "burst":
		n := max(o.arg, 0) % 8
		sent, err := s.player.Burst(s.t.Context(), uint64(n))
		wantSent, wantErr := m.burst(n)
		if int(sent) != wantSent {
			return fmt.Errorf("burst %d gave %d, not %d", n, sent, wantSent)
		}
		got, want = err, wantErr
	case "rate":
		rate := []float64{0.5, 1, 2, 4, 0, -1, math.NaN(), math.Inf(1)}[max(o.arg, 0)%8]
		got = s.player.SetRate(rate)
		if rate > 0 && rate < 10 {
			m.rate = rate
		} else {
			want = clock.ErrRate
		}
	case "seek":
		got = s.player.Seek(bagStart.Add(place))
		if m.playing {
			m.goTo(place)
		} else {
			want = ErrNotPlaying
		}
	case "play":
		got, want = s.player.Play(Limit{}), m.play(false, 0)
	case "limited":
		got, want = s.player.Play(Limit{HasDuration: true, Duration: place}), m.play(true, place)
	case "stop":
		got = s.player.Stop(s.t.Context())
		if !m.playing {
			want = ErrNotPlaying
		}
		m.playing = false
	}
	if !errors.Is(got, want) {
		return fmt.Errorf("answered %w, not %w", got, want)
	}
	m.settle()
	return m.compare(s)
}

func (m *model) compare(s *stage) error {
	heard := s.since()
	s.player.mu.Lock()
	playing := s.player.current != nil
	s.player.mu.Unlock()
	got := fmt.Sprint(playing, s.player.IsPaused(), s.player.Rate(), s.player.Now().Sub(bagStart), heard)
	want := fmt.Sprint(m.playing, m.paused, m.rate, m.now, m.heard)
	m.heard = nil
	if got != want {
		return fmt.Errorf("is %s, not %s (playing, paused, rate, now, heard)", got, want)
	}
	return nil
}

// TestPlayerFollowsTheModel gives random commands to a player in a bubble and to the model.
func TestPlayerFollowsTheModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		gaps := rapid.SliceOfN(rapid.IntRange(0, 6), 0, 12).Draw(rt, "gaps")
		list := rapid.SliceOfN(orders(), 1, 40).Draw(rt, "orders")
		bag := evenBag(len(gaps)+1, 0)
		m := &model{rate: 1}
		at := time.Duration(0)
		for i := range bag.messages {
			if i > 0 {
				at += time.Duration(gaps[i-1]) * 10 * ms
			}
			bag.messages[i].at = at
			m.at = append(m.at, at)
		}
		var failure error // told outside of the bubble: rapid's way to fail must not leave it
		synctest.Test(t, func(t *testing.T) {
			s := raise(t, bag, Options{Mode: Serve})
			for i, o := range list {
				if err := m.obey(s, o); err != nil {
					failure = fmt.Errorf("order %d, %s %d: %w", i, o.name, o.arg, err)
					break
				}
			}
			s.quit()
		})
		if failure != nil {
			rt.Fatal(failure)
		}
	})
}
