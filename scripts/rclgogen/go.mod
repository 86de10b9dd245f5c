module rosbagd/scripts/rclgogen

go 1.26.0

require github.com/tiiuae/rclgo v0.0.0-20260225085354-508dd42245da

require (
	github.com/alessio/shellescape v1.4.2 // indirect
	github.com/kivilahtio/go-re v0.1.8 // indirect
	golang.org/x/exp v0.0.0-20230811145659-89c5cff77bcb // indirect
	golang.org/x/mod v0.42.0 // indirect
	golang.org/x/sync v0.24.0 // indirect
	golang.org/x/tools v0.52.0 // indirect
)
