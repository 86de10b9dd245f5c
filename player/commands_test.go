package player

import (
	"context"
	"errors"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestPlayNextAndBurst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := raise(t, evenBag(6, 100*ms), Options{StartPaused: true})
		require.NoError(t, s.player.PlayNext(t.Context()))
		require.NoError(t, s.player.PlayNext(t.Context()))
		require.Equal(t, numbers(0, 2), s.since())
		require.Equal(t, bagStart.Add(100*ms), s.player.Now(), "the clock moves to the message")

		sent, err := s.player.Burst(t.Context(), 2)
		require.NoError(t, err)
		require.Equal(t, uint64(2), sent)
		sent, err = s.player.Burst(t.Context(), 0)
		require.NoError(t, err)
		require.Equal(t, uint64(2), sent, "0 is all that are left")
		require.Equal(t, numbers(2, 6), s.since())
		require.ErrorIs(t, s.player.PlayNext(t.Context()), ErrEnd)
		sent, err = s.player.Burst(t.Context(), 5)
		require.NoError(t, err)
		require.Zero(t, sent)
		s.alive()

		s.player.Resume()
		require.NoError(t, s.over(), "resumed at the end")
		require.ErrorIs(t, s.player.PlayNext(t.Context()), ErrNotPaused)
		s.player.Pause()
		require.ErrorIs(t, s.player.PlayNext(t.Context()), ErrNotPlaying)
		require.Equal(t, 1, s.logged("Burst 2 messages."))
	})
}

func TestPlayNextPassesOverWhatCanNotBePublished(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := prepare(t, evenBag(5, 100*ms), Options{StartPaused: true})
		s.publish = func(text string) error {
			if text != "2" {
				return errTest
			}
			return nil
		}
		s.run()
		require.NoError(t, s.player.PlayNext(t.Context()))
		require.Equal(t, bagStart.Add(200*ms), s.player.Now())
		require.ErrorIs(t, s.player.PlayNext(t.Context()), ErrEnd)
		s.quit()
	})
}

func TestPlayNextWaitsUntilTheMessageIsRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bag := evenBag(3, 100*ms)
		bag.gate = make(chan struct{})
		s := prepare(t, bag, Options{StartPaused: true, Delay: time.Second})
		answers := make(chan error, 2)
		go func() { answers <- s.player.PlayNext(t.Context()) }() // before Run
		synctest.Wait()
		s.run()
		pass(2 * time.Second)
		require.Empty(t, answers)
		bag.gate <- struct{}{}
		require.NoError(t, <-answers)
		require.Equal(t, []string{"0"}, s.since())

		impatient, cancel := context.WithCancel(t.Context())
		go func() { answers <- s.player.PlayNext(impatient) }()
		synctest.Wait()
		cancel()
		require.ErrorIs(t, <-answers, context.Canceled)
		bag.gate <- struct{}{}
		require.Empty(t, s.since(), "nobody waits for it any more")
		close(bag.gate)
		s.quit()
	})
}

func TestResumeEndsABurst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bag := evenBag(3, 100*ms)
		bag.gate, bag.open = make(chan struct{}), 2
		s := raise(t, bag, Options{StartPaused: true})
		answers := make(chan uint64, 1)
		go func() {
			sent, err := s.player.Burst(t.Context(), 3)
			require.NoError(t, err)
			answers <- sent
		}()
		synctest.Wait()
		require.Empty(t, answers)
		s.player.Resume()
		require.Equal(t, uint64(2), <-answers)
		close(bag.gate)
		pass(time.Minute)
		require.NoError(t, s.over())
		require.Equal(t, numbers(0, 3), s.since())
	})
}

func TestSeek(t *testing.T) {
	cases := []struct {
		name    string
		to      time.Duration
		paused  bool
		want    []string
		running bool // at the end of all
	}{
		{"before the start", -time.Hour, false, numbers(1, 5), false},
		{"before the offset", 0, false, numbers(1, 5), false},
		{"inside, to a message", 200 * ms, false, numbers(2, 5), false},
		{"inside, between messages", 201 * ms, false, numbers(3, 5), false},
		{"to the end", 400 * ms, false, numbers(4, 5), false},
		{"after the end", 401 * ms, false, nil, false},
		{"after the end, paused", 401 * ms, true, nil, true},
		{"inside, paused", 200 * ms, true, nil, true},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := raise(t, evenBag(5, 100*ms), Options{StartOffset: 100 * ms, StartPaused: tc.paused})
				pass(50 * ms)
				s.since()
				require.NoError(t, s.player.Seek(bagStart.Add(tc.to)))
				require.Equal(t, tc.paused, s.player.IsPaused())
				pass(time.Minute)
				require.Equal(t, tc.want, s.since())
				if !tc.running {
					require.NoError(t, s.over())
					require.ErrorIs(t, s.player.Seek(bagStart), ErrNotPlaying)
					return
				}
				s.alive()
				require.NoError(t, s.player.Seek(bagStart.Add(300*ms)))
				require.NoError(t, s.player.PlayNext(t.Context()))
				require.Equal(t, []string{"3"}, s.since())
				s.quit()
			})
		})
	}
}

func TestSeekInALoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := raise(t, evenBag(3, 100*ms), Options{Loop: true})
		require.NoError(t, s.player.Seek(bagStart.Add(time.Hour)))
		require.Equal(t, []string{"0", "0"}, s.since(), "after the end the next pass begins")
		s.quit()
	})
}

func TestSeekInTheDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := raise(t, evenBag(3, 100*ms), Options{Delay: time.Second})
		require.NoError(t, s.player.Seek(bagStart.Add(150*ms)))
		pass(time.Minute)
		require.NoError(t, s.over())
		require.Equal(t, []string{"2"}, s.since())
		require.Equal(t, []time.Duration{time.Second + 50*ms}, s.walls)
	})
}

func TestTimeWaitsForASeekThatReadsSlowly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bag := evenBag(10, 100*ms)
		bag.gate, bag.open = make(chan struct{}), 3
		s := raise(t, bag, Options{})
		require.NoError(t, s.player.Seek(bagStart.Add(700*ms)))
		pass(time.Hour)
		close(bag.gate)
		pass(time.Minute)
		require.NoError(t, s.over())
		require.Equal(t, []string{"0", "7", "8", "9"}, s.since())
		require.Equal(t, []time.Duration{time.Hour, time.Hour + 100*ms, time.Hour + 200*ms}, s.walls[1:], "no burst")
	})
}

func TestPlayNextNeverMovesTheClockBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bag := evenBag(3, 100*ms)
		bag.messages[2].at = 50 * ms // as in files that overlap
		s := raise(t, bag, Options{StartPaused: true})
		for _, now := range []time.Duration{0, 100 * ms, 100 * ms} {
			require.NoError(t, s.player.PlayNext(t.Context()))
			require.Equal(t, bagStart.Add(now), s.player.Now())
		}
		s.quit()
	})
}

func TestNothingStaleAfterASeek(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bag := evenBag(10, 100*ms)
		bag.gate, bag.open = make(chan struct{}), 3
		s := raise(t, bag, Options{})
		pass(100 * ms)
		require.Equal(t, numbers(0, 2), s.since())
		require.NoError(t, s.player.Seek(bagStart.Add(700*ms)))
		bag.gate <- struct{}{} // message 3, of the reading before the seek
		require.Empty(t, s.since())
		close(bag.gate)
		pass(time.Minute)
		require.Equal(t, numbers(7, 10), s.since())
		require.NoError(t, s.over())
	})
}

// states brings a player into each state that a command or a signal may find it in.
func states() map[string]func(t *testing.T) *stage {
	blocked := func(open int) *memoryBag {
		bag := evenBag(5, 100*ms)
		bag.gate, bag.open = make(chan struct{}), open
		return bag
	}
	return map[string]func(t *testing.T) *stage{
		"playing": func(t *testing.T) *stage { return raise(t, evenBag(5, time.Hour), Options{}) },
		"paused":  func(t *testing.T) *stage { return raise(t, evenBag(5, time.Hour), Options{StartPaused: true}) },
		"in the delay": func(t *testing.T) *stage {
			return raise(t, evenBag(5, time.Hour), Options{Delay: time.Hour, StartPaused: true})
		},
		"paused at the end": func(t *testing.T) *stage {
			s := raise(t, evenBag(5, time.Hour), Options{StartPaused: true})
			_, err := s.player.Burst(t.Context(), 0)
			require.NoError(t, err)
			return s
		},
		"looping": func(t *testing.T) *stage { return raise(t, evenBag(5, time.Hour), Options{Loop: true}) },
		"priming": func(t *testing.T) *stage { return raise(t, blocked(0), Options{}) },
		"starved": func(t *testing.T) *stage {
			s := raise(t, blocked(2), Options{})
			pass(time.Second)
			return s
		},
		"with a full queue": func(t *testing.T) *stage {
			return raise(t, evenBag(50, time.Hour), Options{ReadAhead: 1})
		},
		"idle":  func(t *testing.T) *stage { return raise(t, evenBag(5, time.Hour), Options{Mode: Serve}) },
		"ended": func(t *testing.T) *stage { return raise(t, evenBag(1, 0), Options{Mode: PlayThenServe}) },
	}
}

// unblock lets a reading that waits for its gate go on, as a disk would in the end.
func (s *stage) unblock() {
	if bag, ok := s.player.source.(*memoryBag); ok && bag.gate != nil {
		close(bag.gate)
	}
}

func TestEveryStateCanBeLeft(t *testing.T) {
	for name, enter := range states() {
		t.Run(name+", by the context", func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := enter(t)
				at := time.Now()
				s.unblock()
				s.quit()
				require.Zero(t, time.Since(at))
			})
		})
		t.Run(name+", by stop", func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := enter(t)
				at, paused := time.Now(), s.player.IsPaused()
				idle := s.player.options.Mode != PlayOnce
				err := s.player.Stop(t.Context())
				require.Equal(t, idle, errors.Is(err, ErrNotPlaying))
				require.Equal(t, paused, s.player.IsPaused())
				require.Zero(t, time.Since(at))
				s.unblock()
				if !idle {
					require.NoError(t, s.over())
					return
				}
				s.quit()
			})
		})
	}
}

func TestEveryStateAnswers(t *testing.T) {
	for name, enter := range states() {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := enter(t)
				at := time.Now()
				s.player.Pause()
				require.True(t, s.player.IsPaused())
				require.NoError(t, s.player.SetRate(2))
				require.InDelta(t, 2, s.player.Rate(), 0)
				seek := s.player.Seek(bagStart)
				require.Equal(t, s.player.options.Mode != PlayOnce, errors.Is(seek, ErrNotPlaying))
				s.player.TogglePaused()
				require.False(t, s.player.IsPaused())
				require.ErrorIs(t, s.player.PlayNext(t.Context()), ErrNotPaused)
				s.player.Pause()
				require.Zero(t, time.Since(at))
				s.unblock()
				s.quit()
			})
		})
	}
}

func TestPlayAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := raise(t, evenBag(4, 100*ms), Options{Mode: Serve, StartOffset: 100 * ms, ClockFrequency: 10})
		pass(time.Second)
		require.Empty(t, s.seen(), "no clock while idle")
		require.NoError(t, s.player.Play(Limit{HasDuration: true, Duration: 100 * ms}))
		require.ErrorIs(t, s.player.Play(Limit{}), ErrPlaying)
		pass(time.Second)
		require.Equal(t, numbers(1, 3), s.since())
		require.Equal(t, 100*ms, s.seen()[0])
		shown := len(s.seen())
		pass(time.Second)
		require.Len(t, s.seen(), shown, "none after the end either")
		require.NoError(t, s.player.Play(Limit{}))
		pass(time.Second)
		require.Equal(t, numbers(1, 4), s.since())

		s.player.Pause()
		require.NoError(t, s.player.Play(Limit{}))
		require.NoError(t, s.player.Stop(t.Context()))
		require.True(t, s.player.IsPaused())
		require.NoError(t, s.player.Play(Limit{}))
		require.NoError(t, s.player.PlayNext(t.Context()))
		require.Equal(t, []string{"1"}, s.since())
		s.quit()
		require.ErrorIs(t, s.player.Play(Limit{}), ErrNotPlaying)
	})
}

func TestTheEndAnswersThoseWhoWait(t *testing.T) {
	for name, end := range map[string]func(s *stage){
		"stop":    func(s *stage) { require.NoError(s.t, s.player.Stop(s.t.Context())) },
		"context": func(s *stage) { s.cancel() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				bag := evenBag(5, 100*ms)
				bag.gate, bag.open = make(chan struct{}), 2
				s := raise(t, bag, Options{StartPaused: true})
				answers := make(chan error, 2)
				go func() {
					sent, err := s.player.Burst(context.WithoutCancel(t.Context()), 0)
					require.Equal(t, uint64(2), sent)
					answers <- err
				}()
				synctest.Wait()
				go func() { answers <- s.player.PlayNext(context.WithoutCancel(t.Context())) }()
				synctest.Wait()
				end(s)
				require.ErrorIs(t, <-answers, ErrNotPlaying)
				require.ErrorIs(t, <-answers, ErrNotPlaying)
				close(bag.gate)
				require.NoError(t, s.over())
			})
		})
	}
}

func TestClockFrequencyCanBeChanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := raise(t, evenBag(2, time.Second), Options{})
		require.Zero(t, s.player.ClockFrequency())
		pass(100 * ms)
		require.Empty(t, s.seen())
		require.NoError(t, s.player.SetClockFrequency(10))
		pass(250 * ms)
		require.Equal(t, []time.Duration{100 * ms, 200 * ms, 300 * ms}, s.seen())
		s.quit()
	})
}

// Whoever changes something, the others are told, and what was refused is no change.
func TestChangesAreTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		changes := 0
		s := raise(t, evenBag(2, time.Second), Options{StartPaused: true, Changed: func() { changes++ }})
		changes = 0 // making it may count
		require.NoError(t, s.player.SetRate(2))
		require.Equal(t, 1, changes)
		require.NoError(t, s.player.SetClockFrequency(30))
		require.Equal(t, 2, changes)
		require.InDelta(t, 30, s.player.ClockFrequency(), 0)
		require.Error(t, s.player.SetRate(0))
		require.Error(t, s.player.SetClockFrequency(math.NaN()))
		require.Equal(t, 2, changes)
		s.quit()
	})
}
