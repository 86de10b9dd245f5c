package player

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"rosbagd/clock"
	"rosbagd/storage"
	"rosbagd/storage/qos"
)

func numbers(from, to int) []string {
	var list []string
	for i := from; i < to; i++ {
		list = append(list, fmt.Sprint(i))
	}
	return list
}

func TestLoopOfNoDurationDoesNotSpin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := raise(t, evenBag(1, ms), Options{Loop: true})
		pass(10*shortestLoop - ms)
		s.cancel()
		synctest.Wait()
		require.NoError(t, s.over())
		require.Len(t, s.since(), 10)
	})
}

// The publishers outlive their last messages, but not the wish to stop.
func TestLastMessagesAreWaitedFor(t *testing.T) {
	for name, deaf := range map[string]bool{"they arrive": false, "they do not": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := prepare(t, evenBag(2, ms), Options{})
				s.deaf = deaf
				s.run()
				pass(time.Minute)
				require.NoError(t, s.over())
				require.NotZero(t, s.acked)
				require.Equal(t, deaf, s.logs.FilterMessageSnippet("may not have arrived").Len() == 1)
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		s := prepare(t, evenBag(2, ms), Options{})
		s.deaf = true
		s.run()
		pass(2 * ackSlice)
		s.cancel()
		pass(ackSlice)
		require.NoError(t, s.over())
		require.Zero(t, s.logged("may not have arrived"))
	})
	synctest.Test(t, func(t *testing.T) {
		s := raise(t, evenBag(2, ms), Options{StartPaused: true})
		s.cancel()
		synctest.Wait()
		require.NoError(t, s.over())
		require.Zero(t, s.acked)
	})
}

func TestPlaysOnTimeAndEnds(t *testing.T) {
	for _, rate := range []float64{0.5, 1, 4} {
		t.Run(fmt.Sprint(rate), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := raise(t, evenBag(5, 100*ms), Options{Rate: rate})
				pass(time.Minute)
				require.NoError(t, s.over())
				require.Equal(t, numbers(0, 5), s.since())
				for i, wall := range s.walls {
					require.Equal(t, time.Duration(float64(i)*float64(100*ms)/rate), wall)
				}
				require.Equal(t, 1, s.logged("Playback until timestamp: -1"))
				require.Equal(t, 1, s.closed)
			})
		})
	}
}

func TestSlowReadingDelaysTheStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bag := evenBag(3, 100*ms)
		bag.gate = make(chan struct{})
		s := raise(t, bag, Options{})
		pass(time.Hour)
		bag.gate <- struct{}{}
		bag.gate <- struct{}{}
		bag.gate <- struct{}{}
		pass(time.Minute)
		require.NoError(t, s.over())
		require.Equal(t, []time.Duration{time.Hour, time.Hour + 100*ms, time.Hour + 200*ms}, s.walls, "no burst")
	})
}

func TestStarvationIsToldOnceInASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bag := evenBag(6, 100*ms)
		bag.gate, bag.open = make(chan struct{}), 1
		s := raise(t, bag, Options{})
		for range 5 {
			pass(150 * ms)
			bag.gate <- struct{}{}
		}
		pass(time.Minute)
		require.NoError(t, s.over())
		require.Equal(t, numbers(0, 6), s.since())
		require.Equal(t, 1, s.logged("Message queue starved. Messages will be delayed. "+
			"Consider increasing the --read-ahead-queue-size option."))
	})
}

func TestLimits(t *testing.T) {
	at := func(d time.Duration) clock.Time { return bagStart.Add(d) }
	cases := []struct {
		name  string
		limit Limit
		want  []string
		log   int64
	}{
		{"none", Limit{}, numbers(0, 5), -1},
		{"duration, inclusive", Limit{HasDuration: true, Duration: 200 * ms}, numbers(0, 3), int64(at(200 * ms))},
		{"duration of nothing", Limit{HasDuration: true}, nil, 0},
		{"until, inclusive", Limit{HasUntil: true, Until: at(100 * ms)}, numbers(0, 2), int64(at(100 * ms))},
		{"until zero", Limit{HasUntil: true}, nil, 0},
		{"until before the start", Limit{HasUntil: true, Until: at(-1)}, nil, int64(at(-1))},
		{"negative duration", Limit{HasDuration: true, Duration: -1}, nil, int64(at(-1))},
		{"the later of both", Limit{100 * ms, true, at(300 * ms), true}, numbers(0, 4), int64(at(300 * ms))},
		{"the later of both, the duration", Limit{300 * ms, true, at(100 * ms), true}, numbers(0, 4), int64(at(300 * ms))},
		{"no duration but until", Limit{0, true, at(100 * ms), true}, numbers(0, 2), int64(at(100 * ms))},
		{"far away", Limit{HasDuration: true, Duration: math.MaxInt64}, numbers(0, 5), math.MaxInt64},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := raise(t, evenBag(5, 100*ms), Options{Limit: tc.limit})
				pass(time.Minute)
				require.NoError(t, s.over())
				require.Equal(t, tc.want, s.since())
				require.Equal(t, 1, s.logged(fmt.Sprintf("Playback until timestamp: %d", tc.log)))
			})
		})
	}
}

func TestEmptyBag(t *testing.T) {
	for _, options := range []Options{{}, {Loop: true}, {ClockFrequency: 10}, {Latched: LatchedSeek, Delay: time.Second}} {
		synctest.Test(t, func(t *testing.T) {
			s := raise(t, &memoryBag{}, options)
			pass(time.Second)
			require.NoError(t, s.over())
		})
	}
}

func TestALoopWithoutMessagesEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := raise(t, evenBag(3, time.Second), Options{
			Loop: true, StartOffset: 100 * ms, Limit: Limit{HasDuration: true, Duration: 100 * ms},
		})
		require.NoError(t, s.over())
		require.Empty(t, s.since())
	})
}

func TestClockIsSilentInTheDelayAndBeginsAtTheStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := raise(t, evenBag(1, 0), Options{Delay: time.Second, ClockFrequency: 100, StartOffset: -5})
		pass(999 * ms)
		require.Empty(t, s.seen())
		require.Empty(t, s.since())
		pass(ms)
		require.NoError(t, s.over())
		require.Equal(t, []string{"0"}, s.since())
		require.Equal(t, time.Duration(0), s.seen()[0], "also a bag of one message has a clock")
		require.Equal(t, 1, s.logged("Sleep 1000000000 ns"))
		require.Equal(t, 1, s.logged("Invalid start offset value: -5e-09. Negative start offset ignored."))
	})
}

func TestLoopJumpsBackOnceEachTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := raise(t, evenBag(4, 100*ms), Options{Loop: true, ClockFrequency: 50, StartOffset: 100 * ms, Delay: time.Second})
		pass(time.Second + 650*ms)
		require.Equal(t, []string{"1", "2", "3", "1", "2", "3", "1", "2", "3", "1"}, s.since())
		back := 0
		seen := s.seen()
		for i := 1; i < len(seen); i++ {
			if seen[i] < seen[i-1] {
				back++
				require.Equal(t, 100*ms, seen[i], "before the first message of the pass")
			}
		}
		require.Equal(t, 3, back)
		require.Equal(t, 1, s.logged("Sleep 1000000000 ns"), "only before the first pass")
		s.quit()
	})
}

func TestClockBeforeMessages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bag := evenBag(4, 100*ms)
		bag.topics = append(bag.topics, topic("/b"))
		bag.messages[1].topic, bag.messages[3].topic = 1, 1
		s := raise(t, bag, Options{ClockTopics: []string{"/b"}})
		pass(time.Minute)
		require.NoError(t, s.over())
		require.Equal(t, []time.Duration{100 * ms, 300 * ms}, s.seen())
	})
}

func TestTheBagsOwnClock(t *testing.T) {
	for frequency, want := range map[float64]int{0: 2, 40: 1} {
		synctest.Test(t, func(t *testing.T) {
			bag := evenBag(2, 100*ms)
			bag.topics = append(bag.topics, topic("/clock"))
			bag.messages[1].topic = 1
			s := raise(t, bag, Options{ClockFrequency: frequency})
			pass(time.Minute)
			require.NoError(t, s.over())
			require.Len(t, s.since(), want)
		})
	}
}

// latchedBag has two latched messages at the beginning among others: l0 0 l1 1 2 l2 3 ...
func latchedBag() *memoryBag {
	bag := &memoryBag{topics: []storage.TopicInfo{topic("/a"), topic("/tf_static", latchedProfile())}}
	add := func(id storage.TopicID, at time.Duration, text string) {
		bag.messages = append(bag.messages, recorded{topic: id, at: at, text: text})
	}
	add(1, 0, "l0")
	add(0, 10*ms, "0")
	add(1, 20*ms, "l1")
	add(0, 110*ms, "1")
	add(0, 210*ms, "2")
	add(1, 220*ms, "l2")
	add(0, 310*ms, "3")
	return bag
}

func TestLatchedMessagesFromBeforeTheStart(t *testing.T) {
	cases := []struct {
		name    string
		options Options
		want    []string // from the offset
		sought  []string // after a seek to l2
	}{
		{"from the start", Options{}, []string{"l0", "0", "l1"}, []string{"l2", "3"}},
		{"offset", Options{StartOffset: 100 * ms}, []string{"l0", "l1", "1"}, []string{"l2", "3"}},
		{"offset, off", Options{StartOffset: 100 * ms, Latched: LatchedOff}, []string{"1"}, []string{"l2", "3"}},
		{"offset, after seeks too", Options{StartOffset: 100 * ms, Latched: LatchedSeek}, []string{"l0", "l1", "1"}, []string{"l0", "l1", "l2", "3"}},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := raise(t, latchedBag(), tc.options)
				pass(50 * ms)
				require.Equal(t, tc.want, s.since())
				require.NoError(t, s.player.Seek(bagStart.Add(220*ms)))
				pass(time.Minute)
				require.Equal(t, tc.sought, s.since())
				require.NoError(t, s.over())
			})
		})
	}
}

func TestLatchedMessagesAreExtra(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := raise(t, latchedBag(), Options{StartOffset: 100 * ms, StartPaused: true})
		require.Empty(t, s.since(), "nothing goes out while paused")
		require.NoError(t, s.player.PlayNext(t.Context()))
		require.Equal(t, []string{"l0", "l1", "1"}, s.since())
		require.Equal(t, bagStart.Add(110*ms), s.player.Now())
		s.quit()
	})
}

func TestLatchedMessagesSurviveASeekBeforeTheFirstMessage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := raise(t, latchedBag(), Options{StartOffset: 100 * ms, Delay: time.Second})
		require.NoError(t, s.player.Seek(bagStart.Add(300*ms)))
		pass(time.Minute)
		require.NoError(t, s.over())
		require.Equal(t, []string{"l0", "l1", "3"}, s.since())
	})
}

func TestLatchedMessagesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bag := &memoryBag{topics: []storage.TopicInfo{topic("/map", latchedProfile())}}
		for i := range 5 {
			bag.messages = append(bag.messages, recorded{at: time.Duration(i) * ms, text: fmt.Sprint(i) + strings.Repeat("x", 7<<20)})
		}
		s := raise(t, bag, Options{StartOffset: 4 * ms})
		require.NoError(t, s.over())
		heard := s.since()
		require.Len(t, heard, 3)
		for i, text := range heard {
			require.Equal(t, fmt.Sprint(i+2), text[:1], "the newest are kept")
		}
		require.Equal(t, 1, s.logged("Old latched messages from before the start are left out"))
	})
}

func TestFaults(t *testing.T) {
	t.Run("unknown type", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			bag := evenBag(4, 100*ms)
			bag.topics = append(bag.topics, topic("/b"))
			bag.messages[0].topic = 1
			s := prepare(t, bag, Options{})
			s.refuse["/b"] = errors.New("package x not found")
			s.run()
			pass(time.Minute)
			require.NoError(t, s.over())
			require.Equal(t, numbers(1, 4), s.since())
			require.Equal(t, 1, s.logged("Ignoring a topic '/b', reason: package x not found."))
		})
	})
	t.Run("publishing fails", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := prepare(t, evenBag(4, 100*ms), Options{})
			s.publish = func(text string) error {
				if text < "2" {
					return errTest
				}
				return nil
			}
			s.run()
			pass(time.Minute)
			require.NoError(t, s.over())
			require.Equal(t, numbers(2, 4), s.since())
			require.Equal(t, 1, s.logged("Failed to publish message on '/a' topic. Error: test fault"), "once a second")
		})
	})
	t.Run("damaged part", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			bag := evenBag(4, 100*ms)
			bag.messages[2].err = &storage.CorruptionError{Path: "x", Err: errTest}
			s := raise(t, bag, Options{})
			pass(time.Minute)
			require.NoError(t, s.over())
			require.Equal(t, []string{"0", "1", "3"}, s.since())
			require.Equal(t, 1, s.logged("A damaged part of the bag is left out"))
		})
	})
	t.Run("reading fails", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			bag := evenBag(4, 100*ms)
			bag.messages[2].err = errTest
			s := raise(t, bag, Options{Loop: true})
			pass(time.Minute)
			require.ErrorIs(t, s.over(), errTest)
			require.Equal(t, numbers(0, 2), s.since(), "what was read is played")
		})
	})
	t.Run("opening fails in a daemon", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			bag := evenBag(4, 100*ms)
			bag.openErr = errTest
			s := raise(t, bag, Options{Mode: PlayThenServe})
			s.alive()
			require.Equal(t, 1, s.logged("Failed to play: read bag: test fault"))
			s.quit()
		})
	})
}

func TestSplitsAreTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bag := evenBag(4, 100*ms)
		for i, file := range []string{"x_0", "x_0", "x_1", "x_2"} {
			bag.messages[i].file = file
		}
		s := raise(t, bag, Options{})
		pass(time.Minute)
		require.NoError(t, s.over())
		require.Equal(t, []string{"x_0>x_1", "x_1>x_2"}, s.splits)
	})
}

func TestReadAheadIsBoundedInBytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bag := evenBag(10, time.Second)
		for i := range bag.messages {
			bag.messages[i].text = strings.Repeat("x", 1000)
		}
		bag.messages[7].text = strings.Repeat("x", 100_000)
		s := raise(t, bag, Options{ReadAhead: 3 * (1000 + itemOverhead)})
		require.Equal(t, 5, bag.given(), "one published, three waiting, one in hand")
		pass(time.Minute)
		require.NoError(t, s.over())
		require.Len(t, s.since(), 10, "one that is larger than the budget passes")
	})
}

func TestQoSOfPublishers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sensor := qos.Profile{History: qos.KeepLast, Depth: 5, Reliability: qos.BestEffort, Durability: qos.Volatile}
		bag := evenBag(1, 0)
		bag.topics = []storage.TopicInfo{
			topic("/a"), topic("/sensor", sensor), topic("/mixed", sensor, qos.Default()), topic("/override", sensor),
		}
		depth := 7
		s := raise(t, bag, Options{Overrides: map[string]qos.Override{"/override": {Depth: &depth}}})
		require.NoError(t, s.over())
		sensor.Depth = 10
		overridden := qos.Default()
		overridden.Depth = 7
		require.Equal(t, map[string]qos.Profile{
			"/a": qos.Default(), "/sensor": sensor, "/mixed": qos.Default(), "/override": overridden,
		}, s.profiles)
		require.Equal(t, 1, s.logged("Overriding QoS profile for topic /override"))
		require.Equal(t, 1, s.logs.FilterMessageSnippet("Not all original publishers on topic /mixed").Len())
	})
}
