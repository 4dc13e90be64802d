package simulation

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/redquorum/redlock/simulation/fault"
)

// writtenFault is a fault as people write it, with times such as "1.5s".
type writtenFault struct {
	fault.Fault
	At  text `json:"at"`
	For text `json:"for"`
	By  text `json:"by"`
}

// text is a duration in the form that time.ParseDuration reads.
type text time.Duration

func (t *text) UnmarshalJSON(raw []byte) error {
	var words string
	if err := json.Unmarshal(raw, &words); err != nil {
		return fmt.Errorf("a time is %s, want a text such as \"1.5s\"", raw)
	}
	d, err := time.ParseDuration(words)
	*t = text(d)
	return err
}

// ReadSchedule reads a hand-written schedule: a JSON list of faults. In addition to the JSON
// names of a Fault's fields there are "at", "for" and "by", which take texts such as "1.5s"
// instead of nanoseconds:
//
//	[{"kind": "pause", "process": "c1", "op": "write", "nth": 1, "for": "12s"}]
//
// Unknown names are errors. All errors are ErrConfig.
func ReadSchedule(from []byte) (Schedule, error) {
	decoder := json.NewDecoder(bytes.NewReader(from))
	decoder.DisallowUnknownFields()
	var all []writtenFault
	if err := decoder.Decode(&all); err != nil {
		return nil, fmt.Errorf("%w: the schedule can't be read: %w", ErrConfig, err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%w: something follows the schedule", ErrConfig)
	}
	s := make(Schedule, len(all))
	for i, w := range all {
		s[i] = w.Fault
		for field, t := range map[*time.Duration]text{&s[i].At: w.At, &s[i].For: w.For, &s[i].By: w.By} {
			if t != 0 {
				*field = time.Duration(t)
			}
		}
	}
	return s, nil
}
