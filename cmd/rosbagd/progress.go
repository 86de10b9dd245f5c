package main

import (
	"io"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"rosbagd/storage"
)

// bar is a progress bar on a terminal, and nothing elsewhere.
type bar struct {
	drawn *progressbar.ProgressBar
}

const barSteps = 1000

func newBar(w io.Writer, doing string) *bar {
	file, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) {
		return &bar{}
	}
	return &bar{drawn: progressbar.NewOptions(barSteps,
		progressbar.OptionSetWriter(file), progressbar.OptionSetDescription(storage.Printable(doing)),
		progressbar.OptionThrottle(100*time.Millisecond), progressbar.OptionClearOnFinish(),
		progressbar.OptionSetPredictTime(true), progressbar.OptionFullWidth())}
}

// show draws how much is done, from 0 to 1.
func (b *bar) show(share float64) {
	if b.drawn != nil {
		_ = b.drawn.Set(int(share * (barSteps - 1))) // a bar that can not be drawn is no failure
	}
}

// clear takes the bar away before something else is written.
func (b *bar) clear() {
	if b.drawn != nil {
		_ = b.drawn.Clear()
	}
}
