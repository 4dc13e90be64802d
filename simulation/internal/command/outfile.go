package command

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// creatable checks the file that a flag names, "" for none: a missing folder is reported before an hour of
// work, and an existing file keeps its content until the end.
func creatable(flag, path string) error {
	if _, err := os.Stat(filepath.Dir(path)); err != nil {
		return fmt.Errorf("%s: %w", flag, err)
	}
	return nil
}

// create writes a file.
func create(path string, content func(io.Writer) error) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(content(file), file.Close())
}
