package main

import (
	"io"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"rosbagd/bag"
)

// convertBar is a progress bar on a terminal, and nothing elsewhere.
type convertBar struct {
	bar *progressbar.ProgressBar
}

const barSteps = 1000

func newConvertBar(w io.Writer) *convertBar {
	file, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) {
		return &convertBar{}
	}
	return &convertBar{bar: progressbar.NewOptions(barSteps,
		progressbar.OptionSetWriter(file), progressbar.OptionSetDescription("converting"),
		progressbar.OptionThrottle(100*time.Millisecond), progressbar.OptionClearOnFinish(),
		progressbar.OptionSetPredictTime(true), progressbar.OptionFullWidth())}
}

func (b *convertBar) show(p bag.Progress) {
	if b.bar != nil {
		_ = b.bar.Set(int(p.Done * (barSteps - 1))) // a bar that can not be drawn is no failure
	}
}

// clear takes the bar away before something else is written.
func (b *convertBar) clear() {
	if b.bar != nil {
		_ = b.bar.Clear()
	}
}
