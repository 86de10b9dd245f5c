//go:build ros

package node

import (
	"fmt"
	"strings"

	"github.com/tiiuae/rclgo/pkg/rclgo"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"rosbagd/storage"
)

// Logger logs the way every ROS node does: to the terminal in the format that the user configured, to /rosout and to
// the log file, at the level of --log-level. Fields follow the message as key=value.
func (n *Node) Logger() *zap.Logger {
	return zap.New(&logCore{node: n})
}

type logCore struct {
	node   *Node
	fields []zapcore.Field
}

func severity(level zapcore.Level) rclgo.LogSeverity {
	switch {
	case level <= zapcore.DebugLevel:
		return rclgo.LogSeverityDebug
	case level == zapcore.InfoLevel:
		return rclgo.LogSeverityInfo
	case level == zapcore.WarnLevel:
		return rclgo.LogSeverityWarn
	case level == zapcore.ErrorLevel:
		return rclgo.LogSeverityError
	default:
		return rclgo.LogSeverityFatal
	}
}

func (c *logCore) Enabled(level zapcore.Level) bool {
	return c.node.ros.Logger().IsEnabledFor(severity(level))
}

func (c *logCore) With(fields []zapcore.Field) zapcore.Core {
	return &logCore{node: c.node, fields: append(c.fields[:len(c.fields):len(c.fields)], fields...)}
}

func (c *logCore) Check(entry zapcore.Entry, checked *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if c.Enabled(entry.Level) {
		return checked.AddCore(entry, c)
	}
	return checked
}

func (c *logCore) Write(entry zapcore.Entry, fields []zapcore.Field) error {
	line := storage.Printable(formatLog(entry.Message, append(c.fields[:len(c.fields):len(c.fields)], fields...)))
	c.node.mu.RLock()
	defer c.node.mu.RUnlock()
	if c.node.closed {
		return nil // zap would complain on the terminal, and there is nobody left to log for
	}
	return c.node.ros.Logger().Log(severity(entry.Level), line)
}

func (c *logCore) Sync() error { return nil }

// formatLog puts the fields behind the message, in the order given.
func formatLog(message string, fields []zapcore.Field) string {
	if len(fields) == 0 {
		return message
	}
	var b strings.Builder
	b.WriteString(message)
	for _, field := range fields {
		encoder := zapcore.NewMapObjectEncoder()
		field.AddTo(encoder)
		for key, value := range encoder.Fields {
			fmt.Fprintf(&b, " %s=%v", key, value)
		}
	}
	return b.String()
}
