package simulation

import (
	"bytes"
	"cmp"
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
	At  durationText `json:"at"`
	For durationText `json:"for"`
	By  durationText `json:"by"`
}

// durationText is a duration in the form that time.ParseDuration reads.
type durationText time.Duration

func (t *durationText) UnmarshalText(text []byte) error {
	d, err := time.ParseDuration(string(text))
	*t = durationText(d)
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
		return nil, fmt.Errorf("%w: the schedule can't be read; at, for and by are texts such as \"1.5s\": %w", ErrConfig, err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%w: something follows the schedule", ErrConfig)
	}
	s := make(Schedule, len(all))
	for i, w := range all {
		s[i] = w.Fault
		s[i].At = cmp.Or(time.Duration(w.At), w.Fault.At)
		s[i].For = cmp.Or(time.Duration(w.For), w.Fault.For)
		s[i].By = cmp.Or(time.Duration(w.By), w.Fault.By)
	}
	return s, nil
}
