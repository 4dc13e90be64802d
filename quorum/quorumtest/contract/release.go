package contract

import "github.com/stretchr/testify/require"

func checkRelease(c *check) {
	token := c.granted(c.acquire("a", "v")).Token
	c.granted(c.release("a", "v"))
	require.Equal(c.t, token, c.free("a"), "the counter outlives the lock")
	c.changesNothing("a", func() { c.refused(c.release("a", "v")) })
}

func checkReleaseMine(c *check) {
	c.granted(c.acquire("a", "job-10"))
	for _, value := range []string{"w", "job-1", "job-100", "JOB-10", " job-10", "job-10 ", "job-*", "10"} {
		c.changesNothing("a", func() { c.refused(c.release("a", value)) })
	}
	c.changesNothing("new", func() { c.refused(c.release("new", "v")) })
	c.expire("b", "v")
	c.changesNothing("b", func() { c.refused(c.release("b", "v")) })
	c.granted(c.acquire("b", "w"))
	c.changesNothing("b", func() { c.refused(c.release("b", "v")) })
}
