package quorumslog

import "github.com/redquorum/redlock/quorum"

// redact cuts lock values in an error's text short. Errors that hold none are
// given back as they are; of the others errors.Is and As still find the parts.
func redact(err error) error {
	text := quorum.Redact(err.Error())
	if text == err.Error() {
		return err
	}
	return &redacted{err: err, text: text}
}

type redacted struct {
	err  error
	text string
}

func (e *redacted) Error() string { return e.text }
func (e *redacted) Unwrap() error { return e.err }
