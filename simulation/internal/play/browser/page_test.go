package browser_test

import (
	"encoding/json"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/internal/play"
	"github.com/redquorum/redlock/simulation/internal/play/browser"
	"github.com/redquorum/redlock/simulation/record"
)

// opened starts a browser and a server with the page, and returns the page's address.
func opened(t *testing.T) (c *chromium, base string) {
	t.Helper()
	server := httptest.NewServer(built(t))
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

// shows waits until the page shows a run's trace, and compares the verdict.
func (c *chromium) shows(run play.Run) {
	c.t.Helper()
	c.until(`document.querySelector("#hash").textContent === "` + run.Result.Log.Digest() + `" && !document.querySelector("main").classList.contains("stale")`)
	want := "Nothing is violated"
	if found := play.Found(run.Result); found != "none" {
		want = "Violated: " + found
	}
	assert.Equal(c.t, want, c.text(`document.querySelector("#verdict").textContent`))
}

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

// A chapter is reached by a link, has the debate's text, and its runs play as native code does. With the
// guard on the same faults are played.
func TestChapter(t *testing.T) {
	t.Parallel() // it waits for the compiler
	c, base := opened(t)
	chapters, err := browser.Chapters(debate(t))
	require.NoError(t, err)
	c.open(base, 1400, false)
	c.until(`document.querySelectorAll("#chapters a").length === ` + strconv.Itoa(len(chapters)))
	const number = 4 // A server's clock jumps
	chapter := chapters[number]
	c.eval(`document.querySelectorAll("#chapters a")[` + strconv.Itoa(number) + `].click()`)
	c.until(`document.querySelector("#chapter-title").textContent === ` + strconv.Quote(chapter.Title))
	assert.Equal(t, `"chapter-title"`, c.eval(`document.activeElement.id`), "a screen reader goes on there")
	assert.Equal(t, "1", c.eval(`document.querySelectorAll("#chapters [aria-current]").length`))
	text := c.text(`document.querySelector("#chapter-text").textContent`)
	for _, paragraph := range append(plain(chapter.Claims), plain(chapter.Verdict)...) {
		assert.Contains(t, text, paragraph)
	}
	for n, r := range chapter.Runs {
		c.eval(`document.querySelectorAll("#chapter-text .tools a")[` + strconv.Itoa(n) + `].click()`)
		c.shows(played(t, play.Setup{Base: r.Base, Design: r.Design, Seed: 1}))
		assert.Equal(t, strconv.Itoa(n), c.eval(`[...document.querySelectorAll("#chapter-text .tools a")].findIndex((a) => a.ariaCurrent)`))
	}
	c.eval(`[...document.querySelectorAll("#chapter-text .tools a")].find((a) => a.textContent.includes("guard on")).click()`)
	assert.Equal(t, "token-admit", c.state().Design)
	c.shows(played(t, c.state()))
	assert.Equal(t, "true", c.eval(`performance.getEntriesByType("resource").every((r) => r.name.startsWith(location.origin + "/") || r.name.startsWith("blob:"))`), "nothing is from elsewhere")
	assert.Empty(t, c.problems)
}

// The tour has a length, goes both ways, waits for nothing, and each step shows what it says.
func TestTour(t *testing.T) {
	t.Parallel() // it waits for the compiler
	c, base := opened(t)
	c.open(base, 1400, false)
	c.until(`document.querySelector("#chapters a")`)
	c.eval(`document.querySelector("#tour-link").click()`)
	broken := []bool{}
	for step := 1; ; step++ {
		c.until(`document.querySelector("#tour-title").textContent.startsWith("Tour, step ` + strconv.Itoa(step) + ` of 9")`)
		c.shows(played(t, c.state()))
		broken = append(broken, c.text(`document.querySelector("#verdict").textContent`) != "Nothing is violated")
		if c.eval(`document.querySelector("#tour-next").hidden`) == "true" {
			assert.Equal(t, 9, step)
			break
		}
		c.eval(`document.querySelector("#tour-next").click()`)
	}
	assert.Equal(t, []bool{false, true, false, false, false, true, false, true, false}, broken)
	c.eval(`document.querySelector("#tour-back").click()`)
	c.until(`document.querySelector("#tour-title").textContent.startsWith("Tour, step 8 of 9")`)
	c.eval(`document.querySelector("#tour-end").click()`)
	assert.Equal(t, "true", c.eval(`document.querySelector("#tour").hidden`))
	assert.Equal(t, "S7", c.state().Base, "the run stays")
	assert.Empty(t, c.problems)
}

// A fault is dragged from the palette onto a lane: the run breaks while it is there, and is repaired
// when it leaves. Its kind can be changed.
func TestPalette(t *testing.T) {
	t.Parallel() // it waits for the compiler
	c, base := opened(t)
	// c1 has the lock on A, B and C, and is cut off from D and E. Only C's clock is right.
	cuts := simulation.Schedule{}
	for _, f := range played(t, play.Setup{Base: "S4", Design: "redlock"}).Schedule {
		if f.Kind == fault.Cut {
			cuts = append(cuts, f)
		}
	}
	require.Len(t, cuts, 2)
	text, err := json.Marshal(cuts)
	require.NoError(t, err)
	c.open(base+"#"+url.Values{"base": {"S4"}, "design": {"redlock"}, "schedule": {string(text)}}.Encode(), 1400, false)
	calm := played(t, c.state())
	require.Empty(t, calm.Result.Kinds())
	c.shows(calm)
	c.eval(`document.querySelector("#palette").scrollIntoView()`)
	fromX, fromY := c.middle(`document.querySelector("#palette [data-kind=step]")`)
	toX, _ := c.middle(`document.querySelector("#timeline [width='8'].d0")`) // c1's
	lane := func(name string) (y float64) {
		t.Helper()
		_, y = c.middle(`[...document.querySelectorAll("#timeline text.n")].find((e) => e.textContent === "` + name + `")`)
		return y
	}
	const settled = `!document.querySelector("main").classList.contains("stale") && `

	c.mouse("Pressed", fromX, fromY)
	c.mouse("Moved", fromX, fromY+20)
	c.mouse("Moved", toX, lane("C"))
	c.until(settled + `document.querySelectorAll("#timeline .vl").length > 0`) // before the button is released
	c.mouse("Moved", fromX, fromY)
	c.until(settled + `document.querySelectorAll("#timeline .vl").length === 0`)
	c.mouse("Released", fromX, fromY)
	assert.Equal(t, cuts, c.state().Schedule, "nothing was put anywhere")
	c.shows(calm)

	c.mouse("Pressed", fromX, fromY)
	c.mouse("Moved", fromX, fromY+20)
	c.mouse("Moved", toX, lane("C"))
	c.mouse("Released", toX, lane("C"))
	c.until(settled + `document.querySelectorAll("#faults li").length === 3`)
	put := c.state()
	require.Len(t, put.Schedule, 3)
	assert.Equal(t, fault.Step, put.Schedule[2].Kind)
	assert.Equal(t, "C", put.Schedule[2].Server)
	assert.Contains(t, played(t, put).Result.Kinds(), record.TwoHolders)
	c.shows(played(t, put))
	c.set("[name=kind-2]", "hang")
	c.until(settled + `location.hash.includes("hang")`)
	hangs := c.state()
	assert.Equal(t, fault.Hang, hangs.Schedule[2].Kind)
	assert.Equal(t, put.Schedule[2].At, hangs.Schedule[2].At)
	assert.Equal(t, "C", hangs.Schedule[2].Server)
	c.shows(played(t, hangs))

	assert.Empty(t, c.problems)
}

// The challenge finds faults that break the lock and makes them fewer, and can be cancelled.
func TestChallenge(t *testing.T) {
	t.Parallel() // it waits for the compiler
	c, base := opened(t)
	c.open(base+"#base=slow&design=redlock&seed=0&schedule=[]", 1400, false)
	c.shows(played(t, c.state()))
	c.eval(`(() => { const b = document.querySelector("#challenge-go"); b.focus(); b.click() })()`)
	c.until(`document.querySelector("#challenge-found").textContent.includes("That run is shown above")`)
	c.until(`document.activeElement.id === "challenge-go"`)
	found := c.state()
	run := played(t, found)
	assert.NotEmpty(t, run.Result.Kinds())
	c.shows(run)
	assert.Regexp(t, `^\d+ runs\.$`, c.text(`document.querySelector("#challenge-count").textContent`))

	// Messages that are only lost don't break it.
	c.eval(`(() => { document.querySelector("#challenge-kind").value = "lose"; document.querySelector("#challenge-go").click() })()`)
	c.until(`/^\d\d+ runs/.test(document.querySelector("#challenge-count").textContent)`)
	c.eval(`document.querySelector("#challenge-stop").click()`)
	c.until(`document.querySelector("#challenge-found").textContent === "Cancelled."`)
	assert.Equal(t, found.Seed, c.state().Seed, "the run has stayed")

	assert.Empty(t, c.problems)
}
