package designs_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/simulation/designs"
)

func TestRegister(t *testing.T) {
	defer designs.Forget()
	apply := designs.OnOneServer(designs.Recipe{})
	for name, d := range map[string]designs.Design{
		"letters, digits and dashes": {Name: "My Lock", Apply: apply},
		"is taken":                   {Name: "redlock", Apply: apply},
		"no Apply":                   {Name: "mine"},
	} {
		err := designs.Register(d)
		require.ErrorIs(t, err, designs.ErrRegister)
		assert.ErrorContains(t, err, name)
	}
	require.NoError(t, designs.Register(designs.Design{Name: "mine", Servers: 1, Apply: apply}))
	require.ErrorContains(t, designs.Register(designs.Design{Name: "mine", Apply: apply}), "is taken")
	mine := design(t, "mine")
	assert.Equal(t, "mine", mine.Title)
	assert.Equal(t, designs.Yours, mine.Group)
	all := designs.All()
	assert.Equal(t, "mine", all[len(all)-1].Name)
	assert.Len(t, designs.Registered(), 1)
}
