package bag

import (
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"rosbagd/storage"
)

// simulatedDisk passes everything to real files and remembers it, so that the states can be made in which a loss of
// power may leave a disk: a disk keeps what was synced, and of the rest whatever it likes.
type simulatedDisk struct {
	storage.OSFiles
	directory

	mu         sync.Mutex
	operations []operation
	inodes     int
}

// operation is one thing that was done to the disk, or what the test knows to be promised since.
type operation struct {
	kind     operationKind
	inode    int
	name, to string // within the directory
	offset   int64
	data     []byte
	promise  promise
}

type operationKind int

const (
	createOp operationKind = iota
	writeOp
	truncateOp
	syncOp
	renameOp
	removeOp
	syncDirectoryOp
	promiseOp
)

// promise says that the first messages of a file, from number begin until end, survive.
type promise struct{ begin, end int }

func (d *simulatedDisk) did(o operation) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.operations = append(d.operations, o)
}

// simulatedFile is an open file of it.
type simulatedFile struct {
	storage.File
	disk   *simulatedDisk
	inode  int
	offset int64
}

func (d *simulatedDisk) made(name string, file storage.File, err error) (storage.File, error) {
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	d.inodes++
	inode := d.inodes
	d.mu.Unlock()
	d.did(operation{kind: createOp, name: name, inode: inode})
	return &simulatedFile{File: file, disk: d, inode: inode}, nil
}

// diskFiles is the disk as storages see it.
type diskFiles struct{ *simulatedDisk }

func (d diskFiles) Create(path string) (storage.File, error) {
	file, err := d.OSFiles.Create(path)
	return d.made(filepath.Base(path), file, err)
}

func (d diskFiles) Remove(path string) error {
	d.did(operation{kind: removeOp, name: filepath.Base(path)})
	return d.OSFiles.Remove(path)
}

func (d diskFiles) SyncDirectory(path string) error {
	err := d.OSFiles.SyncDirectory(path)
	d.did(operation{kind: syncDirectoryOp})
	return err
}

// diskDirectory is the disk as the Writer sees it.
type diskDirectory struct {
	directory
	disk *simulatedDisk
}

func (d diskDirectory) Create(name string) (storage.File, error) {
	file, err := d.directory.Create(name)
	return d.disk.made(name, file, err)
}

func (d diskDirectory) Rename(from, to string) error {
	d.disk.did(operation{kind: renameOp, name: from, to: to})
	return d.directory.Rename(from, to)
}

func (d diskDirectory) Remove(name string) error {
	d.disk.did(operation{kind: removeOp, name: name})
	return d.directory.Remove(name)
}

func (d diskDirectory) Sync() error {
	err := d.directory.Sync()
	d.disk.did(operation{kind: syncDirectoryOp})
	return err
}

func (f *simulatedFile) Write(p []byte) (int, error) {
	f.disk.did(operation{kind: writeOp, inode: f.inode, offset: f.offset, data: append([]byte{}, p...)})
	n, err := f.File.Write(p)
	f.offset += int64(n)
	return n, err
}

func (f *simulatedFile) Truncate(size int64) error {
	f.disk.did(operation{kind: truncateOp, inode: f.inode, offset: size})
	f.offset = size
	return f.File.Truncate(size)
}

func (f *simulatedFile) Sync() error {
	err := f.File.Sync()
	if !errors.Is(err, os.ErrClosed) {
		f.disk.did(operation{kind: syncOp, inode: f.inode})
	}
	return err
}

const diskPage = 4096

// cut makes the state after the first n operations and a loss of power in an empty directory, and gives what was
// promised until then.
func (d *simulatedDisk) cut(t *testing.T, n int, random *rand.Rand, directory string) []promise {
	t.Helper()
	done := d.operations[:n]
	var promises []promise
	syncedNames := 0
	synced := map[int]int{}
	for i, o := range done {
		switch o.kind {
		case promiseOp:
			promises = append(promises, o.promise)
		case syncDirectoryOp:
			syncedNames = i
		case syncOp:
			synced[o.inode] = i
		default:
		}
	}
	for name, inode := range survivingNames(done, syncedNames, random) {
		content := survivingContent(done, inode, synced[inode], random)
		require.NoError(t, os.WriteFile(filepath.Join(directory, name), content, 0o600))
	}
	return promises
}

// survivingNames: what was done to names before the directory was synced has happened; each later change may have.
func survivingNames(done []operation, synced int, random *rand.Rand) map[string]int {
	// What the names meant for the running system, and what they mean on the disk.
	live, disk := map[string]int{}, map[string]int{}
	for i, o := range done {
		kept := i < synced || random.IntN(2) == 0
		switch o.kind {
		case createOp:
			live[o.name] = o.inode
			if kept {
				disk[o.name] = o.inode
			}
		case renameOp:
			live[o.to] = live[o.name]
			delete(live, o.name)
			if kept {
				disk[o.to] = live[o.to]
				delete(disk, o.name)
			}
		case removeOp:
			delete(live, o.name)
			if kept {
				delete(disk, o.name)
			}
		default:
		}
	}
	return disk
}

// survivingContent: what was written before the file was synced is there; of the rest each page may be, the size is
// anything between, and what is within it and not written is zero.
func survivingContent(done []operation, inode, synced int, random *rand.Rand) []byte {
	apply := func(content []byte, o operation) []byte {
		switch o.kind {
		case writeOp:
			if end := int(o.offset) + len(o.data); end > len(content) {
				content = append(content, make([]byte, end-len(content))...)
			}
			copy(content[o.offset:], o.data)
		case truncateOp:
			content = content[:min(len(content), int(o.offset))]
		default:
		}
		return content
	}
	var safe, live []byte
	for i, o := range done {
		if o.inode != inode {
			continue
		}
		live = apply(live, o)
		if i < synced {
			safe = apply(safe, o)
		}
	}
	return mix(safe, live, random)
}
