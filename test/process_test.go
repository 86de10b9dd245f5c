//go:build ros

package test

import (
	"bufio"
	"errors"
	"io"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

type stream int

const (
	stdout stream = iota
	stderr
)

// input is what a process has for standard input: /dev/null, or a pipe that ends with the test.
type input int

const (
	noInput input = iota
	pipedInput
)

type outputLine struct {
	stream stream
	text   string
}

// process is a running program of a world, in a process group of its own, whose output is kept line by line.
type process struct {
	name  string
	cmd   *exec.Cmd
	stdin io.WriteCloser // nil without a pipe

	left []string // shared memory that it had mapped when it was killed

	exited chan struct{} // closed after the process and both its outputs ended

	mu      sync.Mutex
	lines   []outputLine
	changed chan struct{} // closed and replaced with every new line
}

// launch starts a program; when the test ends its group is killed and must be gone.
func (w *world) launch(t *testing.T, from input, program string, arguments ...string) *process {
	t.Helper()
	cmd := exec.Command(program, arguments...)
	cmd.Env, cmd.Dir = w.environ, w.directory
	// A test binary that dies itself, by its own time limit too, takes its processes with it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	p := &process{
		name:    filepath.Base(program) + " " + strings.Join(arguments, " "),
		cmd:     cmd,
		exited:  make(chan struct{}),
		changed: make(chan struct{}),
	}
	var err error
	if from == pipedInput {
		p.stdin, err = cmd.StdinPipe()
		require.NoError(t, err)
	}
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	errs, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start(), "start %s", p.name)
	go p.follow(out, errs)
	t.Cleanup(func() { p.end(t) })
	return p
}

func (p *process) follow(out, errs io.Reader) {
	var readers sync.WaitGroup
	read := func(from stream, source io.Reader) {
		lines := bufio.NewReader(source)
		for {
			text, err := lines.ReadString('\n')
			if text != "" {
				p.add(outputLine{from, strings.TrimRight(text, "\n")})
			}
			if err != nil {
				return
			}
		}
	}
	readers.Go(func() { read(stdout, out) })
	readers.Go(func() { read(stderr, errs) })
	readers.Wait()
	_ = p.cmd.Wait() // ProcessState tells all that a test asks for
	close(p.exited)
}

func (p *process) add(line outputLine) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lines = append(p.lines, line)
	close(p.changed)
	p.changed = make(chan struct{})
}

// after gives the lines from a position on and a channel that closes when there are more.
func (p *process) after(position int) ([]outputLine, <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.lines[position:len(p.lines):len(p.lines)], p.changed
}

// text is all that the process wrote to one stream.
func (p *process) text(from stream) string {
	lines, _ := p.after(0)
	var text strings.Builder
	for _, line := range lines {
		if line.stream == from {
			text.WriteString(line.text)
			text.WriteByte('\n')
		}
	}
	return text.String()
}

// waitLine waits until a line of either stream matches and returns it; a process that ends without it fails the test.
func (p *process) waitLine(t *testing.T, pattern string, deadline time.Duration) string {
	t.Helper()
	return p.waitLines(t, pattern, 1, deadline)[0]
}

// waitLines waits until so many lines match.
func (p *process) waitLines(t *testing.T, pattern string, count int, deadline time.Duration) []string {
	t.Helper()
	expression := regexp.MustCompile(pattern)
	timeout := time.After(deadline)
	var found []string
	for position, ended := 0, false; ; {
		lines, changed := p.after(position)
		position += len(lines)
		for _, line := range lines {
			if expression.MatchString(line.text) {
				found = append(found, line.text)
			}
		}
		if len(found) >= count {
			return found
		}
		if ended {
			require.FailNow(t, "ended without the line", "%s: %q %d times\n%s", p.name, pattern, count, p.dump())
		}
		select {
		case <-changed:
		case <-p.exited:
			ended = true // one more look: the last lines came before the end
		case <-timeout:
			require.FailNow(t, "line did not come", "%s: %q %d times within %v\n%s", p.name, pattern, count, deadline, p.dump())
		}
	}
}

func (p *process) signal(t *testing.T, signal syscall.Signal) {
	t.Helper()
	if signal == syscall.SIGKILL {
		p.left = sharedMemoryOf(p.cmd.Process.Pid)
	}
	require.NoError(t, syscall.Kill(p.cmd.Process.Pid, signal), "signal %s", p.name)
}

// waitExit waits until the process has ended and returns its exit code, -1 when a signal killed it.
func (p *process) waitExit(t *testing.T, deadline time.Duration) int {
	t.Helper()
	select {
	case <-p.exited:
		return p.cmd.ProcessState.ExitCode()
	case <-time.After(deadline):
		require.FailNow(t, "did not end", "%s: not within %v\n%s", p.name, deadline, p.dump())
		return 0
	}
}

// requireExit waits for the end and requires an exit code.
func (p *process) requireExit(t *testing.T, code int, deadline time.Duration) {
	t.Helper()
	require.Equal(t, code, p.waitExit(t, deadline), "exit code of %s\n%s", p.name, p.dump())
}

// stop ends the process as a user does.
func (p *process) stop(t *testing.T, code int) {
	t.Helper()
	p.signal(t, syscall.SIGINT)
	p.requireExit(t, code, stopDeadline)
}

// peakMemory is the largest resident memory that the running process has had, in bytes.
func (p *process) peakMemory(t *testing.T) int64 {
	t.Helper()
	return statusBytes(t, p.cmd.Process.Pid, "VmHWM")
}

// end kills what is left of the group and requires that nothing of it remains.
func (p *process) end(t *testing.T) {
	if p.stdin != nil {
		_ = p.stdin.Close() // a peer ends by itself when its input does; some tests have closed it already
		select {
		case <-p.exited:
		case <-time.After(peerDeadline):
		}
	}
	p.left = append(p.left, sharedMemoryOf(p.cmd.Process.Pid)...)
	_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL) // gone already is what we want
	<-p.exited
	removeSegments(p.left)
	gone := func() bool { return errors.Is(syscall.Kill(-p.cmd.Process.Pid, 0), syscall.ESRCH) }
	require.Eventually(t, gone, stopDeadline, 10*time.Millisecond, "%s left a process", p.name)
	if t.Failed() {
		t.Logf("%s\n%s", p.name, p.dump())
	}
}

// dump is the output for a failure message.
func (p *process) dump() string {
	const most = 40
	lines, _ := p.after(0)
	var text strings.Builder
	for _, line := range lines[max(0, len(lines)-most):] {
		text.WriteString("    ")
		text.WriteString(line.text[:min(len(line.text), 240)])
		text.WriteByte('\n')
	}
	return text.String()
}
