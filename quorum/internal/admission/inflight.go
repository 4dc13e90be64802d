package admission

import (
	"fmt"

	"github.com/redquorum/redlock/quorum/wire"
)

// InFlight bounds the unanswered requests to one instance. A quarter of Most is kept for
// Op.Held: however many acquisitions are unanswered, a lease can be extended and released. It
// isn't safe for concurrent use.
type InFlight struct {
	Most int
	n    int
}

// Enter counts one more request, or says why there is no room for it.
func (f *InFlight) Enter(op wire.Op) error {
	most := f.Most
	//guard:in-flight-for-the-held  acquisitions leave a part of MaxInFlight free for extensions and releases
	if !op.Held() {
		most = acquisitionsOf(most)
	}
	if f.n >= most {
		return fmt.Errorf("%w: %d requests to this instance are unanswered; wait for it, or raise Config.MaxInFlight", wire.ErrOverloaded, f.n)
	}
	f.n++
	return nil
}

// Leave counts one less.
func (f *InFlight) Leave() { f.n-- }

// acquisitionsOf is the part of MaxInFlight for requests that are not about a key that the
// client has set before.
func acquisitionsOf(maxInFlight int) int { return maxInFlight - maxInFlight/4 }
