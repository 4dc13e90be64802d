package quorum

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func textFields() handleText {
	at := time.Date(2030, 1, 2, 3, 4, 5, 6, time.FixedZone("", 3600))
	return handleText{
		Key: "k \"ü", Value: "secret", Token: 7, TTL: time.Second, Deadline: at,
		Set: "@0 N=5 Q=3 MaxTTL=30s", MaxLife: time.Hour, Lived: time.Minute, Sent: at.Add(-time.Second),
	}
}

func TestHandleTextIsRead(t *testing.T) {
	text, err := textFields().write()
	require.NoError(t, err)
	read, err := readHandleText(text + "\n")
	require.NoError(t, err)
	require.True(t, read.Deadline.Equal(textFields().Deadline))
	again, err := read.write()
	require.NoError(t, err)
	require.Equal(t, text, again)
}

func TestNoOtherTextIsAHandle(t *testing.T) {
	text, err := textFields().write()
	require.NoError(t, err)
	for name, c := range map[string]struct{ from, to, says string }{
		"missing":       {`"key":"k \"ü",`, ``, "no key"},
		"null":          {`"token":7`, `"token":null`, "no token"},
		"unknown":       {`{`, `{"colour":1,`, `"colour"`},
		"twice":         {`{`, `{"key":"x",`, "twice"},
		"other letters": {`"key"`, `"Key"`, "no key"},
		"version":       {`"redlock_handle":2`, `"redlock_handle":1`, "version 1"},
		"type":          {`"value":"secret"`, `"value":["secret"]`, "value can't be read"},
		"cut off":       {`"}`, `"`, "cut off"},
		"more":          {`"}`, `"}{}`, "after its end"},
		"no object":     {`{`, `[`, "no JSON object"},
		"long":          {`"secret"`, `"` + strings.Repeat("s", 16<<10) + `"`, "at most"},
	} {
		t.Run(name, func(t *testing.T) {
			changed := strings.Replace(text, c.from, c.to, 1)
			require.NotEqual(t, text, changed)
			_, err := readHandleText(changed)
			require.ErrorIs(t, err, ErrConfig)
			require.ErrorContains(t, err, c.says)
			require.NotContains(t, err.Error(), "secret")
		})
	}
}

func TestHandlesOfKeysThatAreNotUTF8(t *testing.T) {
	f := textFields()
	f.Key = "\xff"
	_, err := f.write()
	require.ErrorIs(t, err, ErrConfig)
}
