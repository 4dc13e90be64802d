package quorumslog

import "regexp"

// values finds what may be a lock's value: 40 hexadecimal digits. Run ids and
// hashes of scripts look the same; what is left of one is enough to know it by.
var values = regexp.MustCompile(`([0-9a-f]{8})[0-9a-f]{32}`)

// redact cuts lock values in an error's text short. Errors that hold none are
// given back as they are; of the others errors.Is and As still find the parts.
func redact(err error) error {
	text := err.Error()
	if !values.MatchString(text) {
		return err
	}
	return &redacted{err: err, text: values.ReplaceAllString(text, "$1...")}
}

type redacted struct {
	err  error
	text string
}

func (e *redacted) Error() string { return e.text }
func (e *redacted) Unwrap() error { return e.err }
