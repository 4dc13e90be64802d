package main

import (
	"context"
	"errors"
)

// interrupted tells an end by Ctrl-C in words.
func interrupted(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return errors.New("interrupted; everything that was started has ended, and nothing is left behind")
	}
	return err
}
