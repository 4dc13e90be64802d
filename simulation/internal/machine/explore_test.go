package machine

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestWorlds(t *testing.T) {
	for _, w := range Worlds() {
		t.Run(w.Name, func(t *testing.T) {
			began := time.Now()
			found, err := w.Explore()
			require.NoError(t, err)
			t.Logf("%+v %v", found, time.Since(began))
		})
	}
}
