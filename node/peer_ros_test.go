//go:build ros

package node

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// peer is the rclpy node of test/peers/serve.py.
type peer struct {
	lines chan string
}

// heard is a request as the peer got it.
type heard struct {
	Name string `json:"name"`
	Type string `json:"type"`
	Data []byte `json:"data"`
}

// startPeer starts the peer in the domain of the tests; it ends with the test.
func startPeer(ctx context.Context, t *testing.T) *peer {
	t.Helper()
	python := cmp.Or(os.Getenv("PYTHON"), filepath.Join("..", ".ros", cmp.Or(os.Getenv("ROS_DISTRO"), "jazzy"), "bin", "python"))
	cmd := exec.CommandContext(ctx, python, filepath.Join("..", "test", "peers", "serve.py"))
	input, err := cmd.StdinPipe()
	require.NoError(t, err)
	output, err := cmd.StdoutPipe()
	require.NoError(t, err)
	var errors strings.Builder
	cmd.Stderr = &errors
	require.NoError(t, cmd.Start(), "start the peer: run `make setup` first")
	p := &peer{lines: make(chan string, 1000)}
	go func() {
		defer close(p.lines)
		for lines := bufio.NewScanner(output); lines.Scan(); {
			p.lines <- lines.Text()
		}
	}()
	t.Cleanup(func() {
		require.NoError(t, input.Close())
		for range p.lines { // read to the end before Wait closes the pipe
		}
		require.NoError(t, cmd.Wait(), "peer:\n%s", errors.String())
	})
	line, more := <-p.lines
	require.True(t, more, "the peer ended before it was ready")
	require.Equal(t, "ready", line)
	return p
}

// hear waits for the next request that the peer gets.
func (p *peer) hear(ctx context.Context, t *testing.T) heard {
	t.Helper()
	select {
	case line, more := <-p.lines:
		require.True(t, more, "the peer has ended")
		var got heard
		require.NoError(t, json.Unmarshal([]byte(line), &got))
		return got
	case <-ctx.Done():
		require.FailNow(t, "the peer got no request")
		return heard{}
	}
}

// hearRequest waits for the next request, which must be of type typ, and gives its bytes with zeros for padding.
func (p *peer) hearRequest(ctx context.Context, t *testing.T, typ string) []byte {
	t.Helper()
	request := loadTyped(t, typ)
	message, err := request.read(p.hear(ctx, t).Data)
	require.NoError(t, err)
	defer request.free(message)
	data, err := request.write(message)
	require.NoError(t, err)
	return data
}
