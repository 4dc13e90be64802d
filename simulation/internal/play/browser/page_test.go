package browser_test

import (
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/internal/play"
	"github.com/redquorum/redlock/simulation/internal/play/browser"
	"github.com/redquorum/redlock/simulation/record"
)

// compared: the run and the other locks are shown.
const compared = `!document.querySelector("main").classList.contains("stale") && document.querySelectorAll("#side li svg").length === 4`

// opened starts a browser and a server with the page, and returns the page's address.
func opened(t *testing.T) (c *chromium, base string) {
	t.Helper()
	server := httptest.NewServer(browser.Handler(built(t)))
	t.Cleanup(server.Close)
	return newChromium(t), server.URL + "/"
}

// played plays a run with native code.
func played(t *testing.T, setup play.Setup) play.Run {
	t.Helper()
	run, err := play.Play(setup)
	require.NoError(t, err)
	return run
}

// shows waits until the page shows a run's trace, and compares the verdict, and what is expected.
func (c *chromium) shows(run play.Run) {
	c.t.Helper()
	c.until(`document.querySelector("#hash").textContent === "` + run.Result.Log.Digest() + `" && !document.querySelector("main").classList.contains("stale")`)
	found := play.Found(run.Result)
	verdict, expected := "Violated: "+found, "Expected: "+run.Expected+"."
	switch {
	case found != "none":
	case run.Result.Log.Counts()["a lease was acquired"] == 0:
		verdict = "Nothing went wrong; nobody got the lock"
	default:
		verdict = "Nothing went wrong"
	}
	switch {
	case run.Schedule != nil:
		expected = "Your own faults: no expected result."
	case run.Expected == found:
		expected = "As expected."
	}
	assert.Equal(c.t, verdict, c.text(`document.querySelector("#verdict").textContent`))
	assert.Equal(c.t, expected, c.text(`document.querySelector("#expected").textContent`))
}

// covers reports whether the drawing goes on below the text and the controls beside it, while the reader scrolls.
const covers = `(() => { for (let y = 0; y < document.body.scrollHeight; y += 50) { scrollTo(0, y); if (document.querySelector("#run").getBoundingClientRect().bottom > document.querySelector("main > details").getBoundingClientRect().top + 1) return y } scrollTo(0, 0); return false })()`

// state is the run that the page's address names.
func (c *chromium) state() play.Setup {
	c.t.Helper()
	words, err := url.ParseQuery(strings.TrimPrefix(c.text(`location.hash`), "#"))
	require.NoError(c.t, err)
	setup := play.Setup{Base: words.Get("base"), Design: words.Get("design")}
	setup.Seed, err = strconv.ParseUint(words.Get("seed"), 10, 64)
	require.NoError(c.t, err)
	if words.Has("schedule") {
		setup.Schedule, err = simulation.ReadSchedule([]byte(words.Get("schedule")))
		require.NoError(c.t, err)
	}
	return setup
}

// A chapter is reached by a link, has the debate's verdict, and its runs play as native code does.
func TestChapter(t *testing.T) {
	t.Parallel() // it waits for the compiler
	c, base := opened(t)
	c.open(base, 1400, false)
	c.until(`document.querySelectorAll("#chapters a").length === 10`)
	c.eval(`document.querySelectorAll("#chapters a")[4].click()`)
	c.until(`document.querySelector("#chapter-title").textContent === "A server's clock jumps"`)
	assert.Equal(t, `"chapter-title"`, c.eval(`document.activeElement.id`), "a screen reader goes on there")
	assert.Equal(t, "1", c.eval(`document.querySelectorAll("#chapters [aria-current]").length`))
	assert.Equal(t, "false", c.eval(covers))
	text := c.text(`document.querySelector("#chapter-text").textContent`)
	assert.Contains(t, text, "Who is right: Kleppmann, and antirez grants the point.")
	assert.Contains(t, text, "A server's clock that jumps forward can give Redlock two holders")
	for n, design := range []string{"redlock", "default"} {
		c.eval(`document.querySelectorAll("#chapter-text .tools a")[` + strconv.Itoa(n) + `].click()`)
		c.shows(played(t, play.Setup{Base: "S4", Design: design, Seed: 1}))
		assert.Equal(t, strconv.Itoa(n), c.eval(`[...document.querySelectorAll("#chapter-text .tools a")].findIndex((a) => a.ariaCurrent)`))
	}
	c.eval(`location.hash = "chapter=8-a-jepsen-test"`)
	c.until(`document.querySelector("#chapter-title").textContent === "A Jepsen test"`)
	c.shows(played(t, c.state()))
	assert.Equal(t, "restart-empty", c.state().Base, "a chapter plays its first run")
	assert.Equal(t, "true", c.eval(`performance.getEntriesByType("resource").every((r) => r.name.startsWith(location.origin + "/") || r.name.startsWith("blob:"))`), "nothing is from elsewhere")
	assert.Empty(t, c.problems)
}

// The tour has a length, goes both ways, waits for nothing, and each step shows what it says: the text
// and the whole drawing without scrolling, and no controls before the last step.
func TestTour(t *testing.T) {
	t.Parallel() // it waits for the compiler
	c, base := opened(t)
	c.open(base, 1280, false)
	c.until(`document.querySelector("#chapters a")`)
	c.eval(`document.querySelector("#tour-link").click()`)
	broken := []bool{}
	const last = 10
	for step := 1; step <= last; step++ {
		c.until(`document.querySelector("#tour-title").textContent.startsWith("Tour, step ` + strconv.Itoa(step) + ` of ` + strconv.Itoa(last) + `")`)
		c.shows(played(t, c.state()))
		broken = append(broken, c.text(`document.querySelector("#verdict").textContent`) != "Nothing went wrong")
		assert.Equal(t, strconv.FormatBool(step < last), c.eval(`document.querySelector("#choice").offsetParent === null`), "the controls of step %d", step)
		assert.Equal(t, "[true,true]", c.eval(`["#tour", "#timeline svg"].map((e) => { const b = document.querySelector(e).getBoundingClientRect(); return b.top >= 0 && b.bottom <= 800 && b.right <= 1280 })`), "step %d", step)
		assert.Equal(t, "false", c.eval(covers), "step %d", step)
		assert.Equal(t, strconv.FormatBool(step == last), c.eval(`document.querySelector("#tour-next").hidden`))
		if step < last {
			c.eval(`document.querySelector("#tour-next").click()`)
		}
	}
	assert.Equal(t, []bool{false, true, false, false, false, true, false, true, false, false}, broken)
	// The reader breaks the lock with one fault as it is added.
	c.eval(`(() => { document.querySelector("#add-kind").value = "pause"; document.querySelector("#add-go").click() })()`)
	c.until(`document.querySelector("#verdict").className === "bad"`)
	assert.Contains(t, played(t, c.state()).Result.Kinds(), record.TwoHolders)
	c.shows(played(t, c.state()))
	assert.Contains(t, c.text(`document.querySelector("#legend").textContent`), `"two holders": c1 (token …207) sent a `)
	c.eval(`document.querySelector("#tour-back").click()`)
	c.until(`document.querySelector("#tour-title").textContent.startsWith("Tour, step 9 of 10")`)
	c.eval(`document.querySelector("#tour-end").click()`)
	assert.Equal(t, "true", c.eval(`document.querySelector("#tour").hidden`))
	assert.Equal(t, "S7", c.state().Base, "the run stays")
	assert.Equal(t, `"tour-link"`, c.eval(`document.activeElement.id`))
	assert.Empty(t, c.problems)
}

// A fault is added, gets another place and another kind, and is stretched by the tour's slider.
func TestFaults(t *testing.T) {
	t.Parallel() // it waits for the compiler
	c, base := opened(t)
	c.open(base+"#base=S1&design=redlock&schedule=[]", 1400, false)
	c.eval(`(() => { document.querySelector("#add-kind").value = "step"; document.querySelector("#add-go").click() })()`)
	c.until(`document.querySelector("[name=who-0]")`)
	for _, test := range []struct {
		field, value string
		kind         fault.Kind
	}{{"who-0", "C", fault.Step}, {"kind-0", "hang", fault.Hang}} {
		at := c.state().Schedule[0].At
		c.set("[name="+test.field+"]", test.value)
		c.until(`location.hash.includes("%22` + test.value + `%22")`)
		now := c.state()
		require.Len(t, now.Schedule, 1)
		f := now.Schedule[0]
		assert.Equal(t, []any{test.kind, "C", at}, []any{f.Kind, f.Server, f.At})
		c.shows(played(t, now))
	}
	c.eval(`location.hash = "tour=3"`)
	c.until(`document.querySelector("#pause-length").textContent === "6 s"`)
	c.eval(`(() => { const e = document.querySelector("#pause"); e.value = 12; for (const kind of ["input", "change"]) e.dispatchEvent(new Event(kind)) })()`)
	c.until(`document.querySelector("#pause-length").textContent === "12 s"`)
	longer := played(t, c.state())
	assert.Equal(t, 12*time.Second, longer.Faults[0].For)
	assert.NotEmpty(t, longer.Result.Kinds())
	c.shows(longer)
	assert.Empty(t, c.problems)
}
