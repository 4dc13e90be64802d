//go:build unix

package box

import (
	"fmt"
	"net/http"
	"strings"
	"time"
)

// refusal is a request that isn't carried out, as an HTTP status and a reason.
type refusal struct {
	status int
	why    string
}

func (r *refusal) Error() string { return r.why }

func refuse(status int, format string, args ...any) error {
	return &refusal{status, fmt.Sprintf(format, args...)}
}

// refuses says why a server can't have a fault.
func (f *Fleet) refuses(m *Member, fault string, v FaultValues) error {
	if err := fits(fault, v); err != nil {
		return err
	}
	real, isEmbedded := m.server.real()
	switch {
	case isEmbedded != nil && (fault == faultClock || v.Data == dataKept):
		return refuse(http.StatusNotImplemented, "%v; start redlocksim servers where redis-server is installed", errEmbedded)
	case fault == faultClock && real.machine == nil:
		return refuse(http.StatusNotImplemented, "%s", f.library.why())
	case m.server.state == stopped && (fault == faultPause || fault == faultFlush), m.server.state == hung && fault == faultFlush:
		now := map[state]string{stopped: faultStop, hung: faultPause}[m.server.state]
		return refuse(http.StatusConflict, "%s can't have %s now because of %s: heal that first, by DELETE /servers/%s/%s", m.Name, fault, now, m.Name, now)
	}
	return nil
}

// fleetFaultNamed returns the fault of a name.
func fleetFaultNamed(name string) (FleetFault, error) {
	var names []string
	for _, fault := range FleetFaults() {
		if fault.Name == name {
			return fault, nil
		}
		names = append(names, fault.Name)
	}
	return FleetFault{}, refuse(http.StatusNotFound, "no fault %q; there are %s", name, strings.Join(names, ", "))
}

// fits says what is wrong with a fault's values.
func fits(fault string, v FaultValues) error {
	known, err := fleetFaultNamed(fault)
	if err != nil {
		return err
	}
	timed, least, most := fault == faultDelay, int64(1), longestDelay
	if fault == faultClock {
		timed, least, most = true, -farthestStep, farthestStep
	}
	bad := func(format string, args ...any) error { return refuse(http.StatusBadRequest, format, args...) }
	switch {
	case v.Data != "" && fault != faultStop:
		return bad(`%s takes no "data"`, fault)
	case v.Data != "" && v.Data != dataKept && v.Data != dataLost:
		return bad(`data is %q, want %q or %q`, v.Data, dataLost, dataKept)
	case v.MS != nil && !timed:
		return bad(`%s takes no "ms"`, fault)
	case v.MS == nil && timed:
		return bad("%s needs a time in the request's body, such as %s", fault, known.Values)
	case timed && (*v.MS < least || *v.MS > most):
		return bad("ms is %d, want %d to %d for %s", *v.MS, least, most, fault)
	case timed && *v.MS == 0:
		return bad("ms is 0, which is no %s", fault)
	}
	return nil
}

// Limits of the values, in milliseconds.
const (
	longestDelay = int64(time.Minute / time.Millisecond)
	farthestStep = int64(365 * 24 * time.Hour / time.Millisecond)
)
