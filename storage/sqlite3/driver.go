package sqlite3

import (
	"errors"
	"fmt"
	"sync"
	"syscall"
	"unsafe"

	"modernc.org/libc"
	"modernc.org/sqlite" // without cgo: file verbs must build without it
	lib "modernc.org/sqlite/lib"
)

// useFileLocks makes SQLite's locks on a database belong to its open file. Locks of the other kind are lost as soon as
// anything in this process opens and closes the same file, and then another program may take the file for abandoned and
// remove its write-ahead log.
var useFileLocks = sync.OnceFunc(func() {
	// Where the system has no such locks SQLite goes on with the others.
	_, _ = sqlite.OFDLocking(true)
})

// connection is one connection to SQLite, through the library's C interface: its database/sql driver allocates several
// times for each row. A connection belongs to one goroutine at a time.
type connection struct {
	tls *libc.TLS
	db  uintptr
}

// resultError is a result code of SQLite with its text.
type resultError struct {
	code int32 // extended result code
	text string
	// errno is the error of the system call that failed, 0 for none.
	errno syscall.Errno
}

func (e *resultError) Error() string {
	if e.errno != 0 {
		return e.errno.Error()
	}
	return e.text
}

// Unwrap gives the system's error, so that a full disk is syscall.ENOSPC here as everywhere.
func (e *resultError) Unwrap() error {
	if e.errno == 0 {
		return nil
	}
	return e.errno
}

// tooBig tells whether a row is larger than SQLite takes.
func tooBig(err error) bool {
	var result *resultError
	return errors.As(err, &result) && result.code&0xff == lib.SQLITE_TOOBIG
}

// busy tells whether another connection holds the file.
func busy(err error) bool {
	var result *resultError
	return errors.As(err, &result) && (result.code&0xff == lib.SQLITE_BUSY || result.code&0xff == lib.SQLITE_LOCKED)
}

// connect opens a database by its absolute path, which therefore can not be taken for a URI. vfs is the name of a
// registered virtual file system, empty for the system's files.
func connect(path, vfs string, flags int32) (*connection, error) {
	useFileLocks()
	c := &connection{tls: libc.NewTLS()}
	name, err := libc.CString(path)
	if err != nil {
		c.tls.Close()
		return nil, fmt.Errorf("open database: %w", err)
	}
	defer libc.Xfree(c.tls, name)
	var vfsName uintptr
	if vfs != "" {
		if vfsName, err = libc.CString(vfs); err != nil {
			c.tls.Close()
			return nil, fmt.Errorf("open database: %w", err)
		}
		defer libc.Xfree(c.tls, vfsName)
	}
	const pointer = int(unsafe.Sizeof(uintptr(0)))
	slot := libc.Xcalloc(c.tls, 1, lib.Tsize_t(pointer))
	defer libc.Xfree(c.tls, slot)
	code := lib.Xsqlite3_open_v2(c.tls, name, slot, flags|lib.SQLITE_OPEN_NOMUTEX, vfsName)
	c.db = pointerAt(slot)
	if code != lib.SQLITE_OK {
		return nil, errors.Join(c.failure(code), c.close())
	}
	lib.Xsqlite3_extended_result_codes(c.tls, c.db, 1)
	if err := c.harden(); err != nil {
		return nil, errors.Join(err, c.close())
	}
	return c, nil
}

// harden keeps the content of a file from doing anything: no functions with side effects from its schema, no triggers,
// no views, no writing to its tables behind SQLite's back.
func (c *connection) harden() error {
	const slots = 2 * 8 // libc.VaList puts each argument into 8 bytes
	list := libc.Xmalloc(c.tls, slots)
	defer libc.Xfree(c.tls, list)
	for _, setting := range []struct {
		option int32
		on     int32
	}{
		{lib.SQLITE_DBCONFIG_DEFENSIVE, 1},
		{lib.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
		{lib.SQLITE_DBCONFIG_ENABLE_TRIGGER, 0},
		{lib.SQLITE_DBCONFIG_ENABLE_VIEW, 0},
	} {
		code := lib.Xsqlite3_db_config(c.tls, c.db, setting.option, libc.VaList(list, setting.on, uintptr(0)))
		if code != lib.SQLITE_OK {
			return c.failure(code)
		}
	}
	return nil
}

// failure makes an error of a result code, with the system's error where there was one.
func (c *connection) failure(code int32) error {
	result := &resultError{code: code, text: libc.GoString(lib.Xsqlite3_errstr(c.tls, code))}
	if c.db != 0 {
		result.text = libc.GoString(lib.Xsqlite3_errmsg(c.tls, c.db))
	}
	switch code & 0xff {
	case lib.SQLITE_FULL:
		result.errno = syscall.ENOSPC
	case lib.SQLITE_IOERR, lib.SQLITE_CANTOPEN:
		if c.db != 0 {
			result.errno = syscall.Errno(lib.Xsqlite3_system_errno(c.tls, c.db))
		}
	}
	return result
}

// exec runs one statement to its end and gives the first column of its first row.
func (c *connection) exec(sql string) (string, error) {
	s, err := c.prepare(sql)
	if err != nil {
		return "", err
	}
	var first string
	row, err := s.step()
	if err == nil && row {
		first = s.text(0)
		for row && err == nil {
			row, err = s.step()
		}
	}
	s.reset()
	s.finalize()
	return first, err
}

// close frees the connection; statements must be finalized before.
func (c *connection) close() error {
	if c.tls == nil {
		return nil
	}
	var err error
	if c.db != 0 {
		if code := lib.Xsqlite3_close_v2(c.tls, c.db); code != lib.SQLITE_OK {
			err = c.failure(code)
		}
	}
	c.tls.Close()
	c.db, c.tls = 0, nil
	return err
}

// statement is a prepared statement. Parameters count from 1, columns from 0.
type statement struct {
	c   *connection
	ptr uintptr
	// memory holds bound texts and blobs until the next row: SQLite can not be handed memory of Go.
	memory []cMemory
}

type cMemory struct {
	address uintptr
	size    int
}

func (c *connection) prepare(sql string) (*statement, error) {
	text, err := libc.CString(sql)
	if err != nil {
		return nil, fmt.Errorf("prepare statement: %w", err)
	}
	defer libc.Xfree(c.tls, text)
	slot := libc.Xcalloc(c.tls, 1, lib.Tsize_t(unsafe.Sizeof(uintptr(0))))
	defer libc.Xfree(c.tls, slot)
	if code := lib.Xsqlite3_prepare_v2(c.tls, c.db, text, -1, slot, 0); code != lib.SQLITE_OK {
		return nil, c.failure(code)
	}
	return &statement{c: c, ptr: pointerAt(slot)}, nil
}

func (s *statement) bindInt(at int32, value int64) error {
	return s.check(lib.Xsqlite3_bind_int64(s.c.tls, s.ptr, at, value))
}

func (s *statement) bindText(at int32, value string) error {
	address, err := s.keep(at, len(value))
	if err != nil {
		return err
	}
	copy(bytesAt(address, len(value)), value)
	return s.check(lib.Xsqlite3_bind_text(s.c.tls, s.ptr, at, address, int32(len(value)), 0))
}

// bindBlob copies value, which must not be longer than an int32 tells.
func (s *statement) bindBlob(at int32, value []byte) error {
	address, err := s.keep(at, len(value))
	if err != nil {
		return err
	}
	copy(bytesAt(address, len(value)), value)
	return s.check(lib.Xsqlite3_bind_blob(s.c.tls, s.ptr, at, address, int32(len(value)), 0))
}

// keep gives memory for a parameter. It grows with the largest value, and what is more than a megabyte is given back
// with the next small value.
func (s *statement) keep(at int32, size int) (uintptr, error) {
	for len(s.memory) <= int(at) {
		s.memory = append(s.memory, cMemory{})
	}
	const modest = 1 << 20
	m := &s.memory[at]
	if m.address != 0 && size <= m.size && (m.size <= modest || size > modest) {
		return m.address, nil
	}
	libc.Xfree(s.c.tls, m.address)
	m.size = max(size, 256)
	m.address = libc.Xmalloc(s.c.tls, lib.Tsize_t(m.size))
	if m.address == 0 {
		m.size = 0
		return 0, &resultError{code: lib.SQLITE_NOMEM, text: "out of memory", errno: syscall.ENOMEM}
	}
	return m.address, nil
}

// bytesAt looks at memory of the library, which Go neither moves nor frees.
func bytesAt(address uintptr, size int) []byte {
	return unsafe.Slice(*(**byte)(unsafe.Pointer(&address)), size)
}

func pointerAt(address uintptr) uintptr {
	return **(**uintptr)(unsafe.Pointer(&address))
}

// step goes to the next row.
func (s *statement) step() (row bool, err error) {
	switch code := lib.Xsqlite3_step(s.c.tls, s.ptr); code {
	case lib.SQLITE_ROW:
		return true, nil
	case lib.SQLITE_DONE:
		return false, nil
	default:
		return false, s.c.failure(code)
	}
}

// run executes a statement without rows and makes it ready for the next parameters.
func (s *statement) run() error {
	_, err := s.step()
	s.reset()
	return err
}

func (s *statement) reset() { lib.Xsqlite3_reset(s.c.tls, s.ptr) }

func (s *statement) text(column int32) string {
	address := lib.Xsqlite3_column_text(s.c.tls, s.ptr, column)
	if address == 0 {
		return ""
	}
	return string(bytesAt(address, int(lib.Xsqlite3_column_bytes(s.c.tls, s.ptr, column))))
}

func (s *statement) integer(column int32) int64 {
	return lib.Xsqlite3_column_int64(s.c.tls, s.ptr, column)
}

func (s *statement) finalize() {
	if s == nil || s.ptr == 0 {
		return
	}
	lib.Xsqlite3_finalize(s.c.tls, s.ptr)
	for _, m := range s.memory {
		libc.Xfree(s.c.tls, m.address)
	}
	s.ptr, s.memory = 0, nil
}

func (s *statement) check(code int32) error {
	if code != lib.SQLITE_OK {
		return s.c.failure(code)
	}
	return nil
}
