package command

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// outfile is a file that a command writes at its end. It is opened at the beginning, so
// that a missing folder is reported before an hour of work. The old content is kept until
// the end. A nil *outfile is no file.
type outfile struct {
	path string
	file *os.File
	made bool // by us: it is removed if nothing is written
}

// openOutfile opens the file that a flag names, nil for "".
func openOutfile(flag, path string) (*outfile, error) {
	if path == "" {
		return nil, nil
	}
	o := &outfile{path: path, made: true}
	var err error
	if o.file, err = os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644); errors.Is(err, fs.ErrExist) {
		o.made = false
		o.file, err = os.OpenFile(path, os.O_WRONLY, 0)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", flag, err)
	}
	return o, nil
}

// write replaces the content and closes the file.
func (o *outfile) write(content func(io.Writer) error) error {
	if o == nil {
		return nil
	}
	if o.regular() {
		if err := o.file.Truncate(0); err != nil {
			return err
		}
	}
	o.made = false
	return errors.Join(content(o.file), o.file.Close())
}

// regular reports whether it is a regular file.
func (o *outfile) regular() bool {
	info, err := o.file.Stat()
	return err == nil && info.Mode().IsRegular()
}

// abandon closes a file that was not written. After write it does nothing.
func (o *outfile) abandon() {
	if o == nil {
		return
	}
	_ = o.file.Close() // nothing was written
	if o.made {
		_ = os.Remove(o.path) // it is empty
	}
}

// writable checks that files can be created in the folder that a flag names, by creating
// one.
func writable(flag, folder string) error {
	try, err := os.CreateTemp(folder, ".redlocksim-*")
	if err == nil {
		err = errors.Join(try.Close(), os.Remove(try.Name()))
	}
	if err != nil {
		return fmt.Errorf("%s: %w", flag, err)
	}
	return nil
}
