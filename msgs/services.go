package msgs

// Service describes a service type of rosbag2_interfaces: its name and how to make an empty request of our own type.
// A handler gets a pointer to a request and returns a pointer to a response.
type Service struct {
	Name       string
	NewRequest func() any
}

// Empty is a request or response without fields.
type Empty struct{}

// PausedResponse answers IsPaused.
type PausedResponse struct{ Paused bool }

// RateResponse answers GetRate.
type RateResponse struct{ Rate float64 }

// SuccessResponse answers SetRate, PlayNext, Seek, Play and Snapshot.
type SuccessResponse struct{ Success bool }

// CodeResponse answers Record, Stop (newer distros), StartDiscovery and StopDiscovery: 0 and an empty text is done,
// anything else is refused with a sentence.
type CodeResponse struct {
	ReturnCode  int32
	ErrorString string
}

// RunningResponse answers IsDiscoveryRunning.
type RunningResponse struct{ Running bool }

// SetRateRequest asks for another rate, a ratio to real time.
type SetRateRequest struct{ Rate float64 }

// SeekRequest asks for a place in the bag.
type SeekRequest struct{ Time Time }

// BurstRequest asks for a number of messages; 0 is all that are left.
type BurstRequest struct{ NumMessages uint64 }

// BurstResponse tells how many messages went out.
type BurstResponse struct{ ActuallyBurst uint64 }

// PlayRequest asks an idle player to play. A negative second means: no limit.
type PlayRequest struct {
	StartOffset            Time
	PlaybackDuration       Duration
	PlaybackUntilTimestamp Time
}

// RecordRequest asks an idle recorder to record; an empty Uri is the configured one. StartTime from Lyrical on.
type RecordRequest struct {
	Uri       string //nolint:revive // the field's name in the interface
	StartTime Time
}

// ResumeRequest resumes; its fields are Lyrical's, all zero is "now".
type ResumeRequest struct {
	ResumeTime        Time
	ResumeMode        int32
	TrackingTopicName string
}

// SplitBagfileRequest closes the file and opens the next; its fields are Lyrical's, all zero is "now".
type SplitBagfileRequest struct {
	SplitTime         Time
	SplitMode         int32
	TrackingTopicName string
}

func service[Request any](name string) Service {
	return Service{Name: name, NewRequest: func() any { return new(Request) }}
}

// Burst publishes a number of messages at once, while paused.
func Burst() Service { return service[BurstRequest]("Burst") }

// GetRate asks for the rate of playing.
func GetRate() Service { return service[Empty]("GetRate") }

// IsDiscoveryRunning asks whether new topics are looked for.
func IsDiscoveryRunning() Service { return service[Empty]("IsDiscoveryRunning") }

// IsPaused asks whether playing or recording is paused.
func IsPaused() Service { return service[Empty]("IsPaused") }

// Pause pauses playing or recording.
func Pause() Service { return service[Empty]("Pause") }

// Play begins to play.
func Play() Service { return service[PlayRequest]("Play") }

// PlayNext publishes one message, while paused.
func PlayNext() Service { return service[Empty]("PlayNext") }

// Record begins a bag.
func Record() Service { return service[RecordRequest]("Record") }

// Resume ends a pause.
func Resume() Service { return service[ResumeRequest]("Resume") }

// Seek goes on playing at another time.
func Seek() Service { return service[SeekRequest]("Seek") }

// SetRate changes the rate of playing.
func SetRate() Service { return service[SetRateRequest]("SetRate") }

// Snapshot writes what the snapshot buffer holds.
func Snapshot() Service { return service[Empty]("Snapshot") }

// SplitBagfile goes on recording in a new file.
func SplitBagfile() Service { return service[SplitBagfileRequest]("SplitBagfile") }

// StartDiscovery looks for new topics again.
func StartDiscovery() Service { return service[Empty]("StartDiscovery") }

// Stop ends playing or recording.
func Stop() Service { return service[Empty]("Stop") }

// StopDiscovery looks for no more new topics.
func StopDiscovery() Service { return service[Empty]("StopDiscovery") }

// TogglePaused pauses or resumes playing.
func TogglePaused() Service { return service[Empty]("TogglePaused") }
