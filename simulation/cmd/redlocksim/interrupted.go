package main

import (
	"context"
	"errors"
)

// interrupted returns a readable error for Ctrl-C.
func interrupted(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return errors.New("interrupted; everything that was started has ended, and nothing is left behind")
	}
	return err
}
