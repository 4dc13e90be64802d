package designs

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestRegister(t *testing.T) {
	defer func() { registered = nil }()
	apply := OnOneServer(Recipe{})
	for says, d := range map[string]Design{
		"letters, digits and dashes": {Name: "My Lock", Apply: apply},
		"is taken":                   {Name: "redlock", Apply: apply},
		"no Apply":                   {Name: "mine"},
	} {
		err := Register(d)
		require.ErrorIs(t, err, ErrRegister)
		assert.ErrorContains(t, err, says)
	}
	require.NoError(t, Register(Design{Name: "mine", Servers: 1, Apply: apply}))
	require.ErrorContains(t, Register(Design{Name: "mine", Apply: apply}), "is taken")
	all := All()
	mine := all[len(all)-1]
	assert.Equal(t, "mine", mine.Name)
	assert.Equal(t, "mine", mine.Title)
	assert.Equal(t, Yours, mine.Group)
}

func TestEveryDesignIsComplete(t *testing.T) {
	names := map[string]bool{}
	for _, d := range All() {
		assert.Regexp(t, validName, d.Name)
		assert.False(t, names[d.Name], "two designs are named %s", d.Name)
		names[d.Name] = true
		for what, text := range map[string]string{"Title": d.Title, "Source": d.Source, "Breaks": d.Breaks, "Group": string(d.Group)} {
			assert.NotEmpty(t, text, "%s has no %s", d.Name, what)
		}
		assert.Contains(t, []int{1, 5}, d.Servers, d.Name)
		assert.NotNil(t, d.Apply, d.Name)
	}
}
