package browser_test

import (
	"encoding/json"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
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
	"github.com/redquorum/redlock/simulation/search"
)

// opened starts a browser and a server with the page, and returns the page's address.
func opened(t *testing.T) (c *chromium, base string) {
	t.Helper()
	c = newChromium(t)
	server := httptest.NewServer(built(t))
	t.Cleanup(server.Close)
	return c, server.URL + "/"
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

// Every chapter and every run of a chapter is reached by a link, has the debate's text, plays as
// native code does and shows that verdict. With the guard on the same faults are played.
func TestEveryChapter(t *testing.T) {
	t.Parallel() // it waits for the compiler
	c, base := opened(t)
	chapters, err := browser.Chapters(debate(t))
	require.NoError(t, err)
	c.open(base, 1400, false)
	c.until(`document.querySelectorAll("#chapters a").length === ` + strconv.Itoa(len(chapters)))
	for i, chapter := range chapters {
		c.eval(`document.querySelectorAll("#chapters a")[` + strconv.Itoa(i) + `].click()`)
		c.until(`document.querySelector("#chapter-title").textContent === ` + strconv.Quote(chapter.Title))
		assert.Equal(t, `"chapter-title"`, c.eval(`document.activeElement.id`), "a screen reader goes on there")
		assert.Equal(t, "1", c.eval(`document.querySelectorAll("#chapters [aria-current]").length`))
		text := c.text(`document.querySelector("#chapter-text").textContent`)
		for _, paragraph := range append(plain(chapter.Claims), plain(chapter.Verdict)...) {
			assert.Contains(t, text, paragraph)
		}
		for n, r := range chapter.Runs {
			seed, err := strconv.ParseUint(r.Seed, 10, 64)
			require.NoError(t, err)
			run := played(t, play.Setup{Base: r.Base, Design: r.Design, Seed: seed})
			require.NoError(t, run.Unexpected)
			c.eval(`document.querySelectorAll("#chapter-text .tools a")[` + strconv.Itoa(n) + `].click()`)
			c.shows(run)
			assert.Equal(t, strconv.Itoa(n), c.eval(`[...document.querySelectorAll("#chapter-text .tools a")].findIndex((a) => a.ariaCurrent)`))
		}
		c.eval(`[...document.querySelectorAll("#chapter-text .tools a")].find((a) => a.textContent.includes("guard on")).click()`)
		assert.Equal(t, "true", c.eval(`performance.getEntriesByType("resource").every((r) => r.name.startsWith(location.origin + "/") || r.name.startsWith("blob:"))`), "nothing is from elsewhere")
		guard := c.state()
		assert.Equal(t, "token-admit", guard.Design, chapter.ID)
		c.shows(played(t, guard))
	}
	assert.Empty(t, c.problems)
}

// The tour has a length, goes both ways, waits for nothing, and each step shows what it says.
func TestTour(t *testing.T) {
	t.Parallel() // it waits for the compiler
	c, base := opened(t)
	c.open(base, 1400, false)
	c.until(`document.querySelector("#chapters a")`)
	c.eval(`document.querySelector("#tour-link").click()`)
	words := 0
	verdicts := []string{}
	for step := 1; ; step++ {
		c.until(`document.querySelector("#tour-title").textContent.startsWith("Tour, step ` + strconv.Itoa(step) + ` of 9")`)
		c.shows(played(t, c.state()))
		verdicts = append(verdicts, c.text(`document.querySelector("#verdict").textContent`))
		words += len(strings.Fields(c.text(`document.querySelector("#tour-text").textContent`)))
		if c.eval(`document.querySelector("#tour-next").hidden`) == "true" {
			assert.Equal(t, 9, step)
			break
		}
		c.eval(`document.querySelector("#tour-next").click()`)
	}
	const nothing = "Nothing is violated"
	broken := []bool{}
	for _, v := range verdicts {
		broken = append(broken, v != nothing)
	}
	assert.Equal(t, []bool{false, true, false, false, false, true, false, true, false}, broken, "%v", verdicts)
	assert.Less(t, words, 4*150, "four minutes, with time to look")
	c.eval(`document.querySelector("#tour-back").click()`)
	c.until(`document.querySelector("#tour-title").textContent.startsWith("Tour, step 8 of 9")`)
	c.eval(`document.querySelector("#tour-end").click()`)
	assert.Equal(t, "true", c.eval(`document.querySelector("#tour").hidden`))
	assert.Equal(t, "S7", c.state().Base, "the run stays")
	assert.Empty(t, c.problems)
}

// What an address names beyond the page's chapters and steps is left out.
func TestAddressOfNoPlace(t *testing.T) {
	t.Parallel() // it waits for the compiler
	c, base := opened(t)
	for _, nowhere := range []string{"#tour=10", "#tour=-1", "#tour=x", "#chapter=0-nothing", "#schedule=%5B", "#seed=1e3", ""} {
		c.call("Page.navigate", map[string]any{"url": "about:blank"}, nil)
		c.open(base+nowhere, 1400, false)
		c.shows(played(t, play.Setup{Base: "S1", Design: "default"}))
		assert.Equal(t, "true", c.eval(`document.querySelector("#tour").hidden && document.querySelector("#chapter").hidden`), nowhere)
		assert.Equal(t, strconv.FormatBool(nowhere != "#schedule=%5B"), c.eval(`document.querySelector("#error").hidden`), nowhere)
	}
	assert.Empty(t, c.problems)
}

// The command that the page shows plays the same run in a shell.
func TestShownCommand(t *testing.T) {
	t.Parallel() // it waits for the compiler
	c, base := opened(t)
	c.open(base+"#"+url.Values{"base": {"S1"}, "design": {"redlock"}, "seed": {"18446744073709551615"}, "schedule": {`[{"kind":"crash","process":"c1","at_ns":1100000000}]`}}.Encode(), 1400, false)
	c.shows(played(t, c.state()))
	out := runCommand(t, c.text(`document.querySelector("#command").textContent`))
	assert.Contains(t, out, "trace: sha256 "+c.text(`document.querySelector("#hash").textContent`))
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

	// A server can't be paused, so the fault comes to a client.
	c.set("[name=kind-2]", "pause")
	c.until(settled + `location.hash.includes("pause")`)
	assert.Equal(t, "c1", c.state().Schedule[2].Process)
	assert.Empty(t, c.state().Schedule[2].Server)
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
	for i := range found.Schedule { // none is there without need
		less := found
		less.Schedule = append(append(simulation.Schedule{}, found.Schedule[:i]...), found.Schedule[i+1:]...)
		assert.NotEqual(t, play.Found(run.Result), play.Found(played(t, less).Result))
	}
	assert.Regexp(t, `^\d+ runs\.$`, c.text(`document.querySelector("#challenge-count").textContent`))

	// Messages that are only lost don't break it.
	c.eval(`(() => { document.querySelector("#challenge-kind").value = "lose"; document.querySelector("#challenge-go").click() })()`)
	c.until(`/^\d\d+ runs/.test(document.querySelector("#challenge-count").textContent)`)
	c.eval(`document.querySelector("#challenge-stop").click()`)
	c.until(`document.querySelector("#challenge-found").textContent === "Cancelled."`)
	assert.Equal(t, found.Seed, c.state().Seed, "the run has stayed")

	// Another lock ends the search.
	c.eval(`document.querySelector("#challenge-go").click()`)
	c.until(`/^\d\d+ runs/.test(document.querySelector("#challenge-count").textContent)`)
	c.set("#design", "default")
	c.until(`document.querySelector("#challenge-stop").hidden`)
	c.shows(played(t, c.state()))
	assert.Empty(t, c.problems)
}

// A run is saved as a file that redlocksim replays, and opened again. A file that can't be played is
// one sentence, and the page stays as it was.
func TestReplayFiles(t *testing.T) {
	t.Parallel() // it waits for the compiler
	c, base := opened(t)
	c.open(base+"#base=S4&design=redlock&seed=3", 1400, false)
	run := played(t, c.state())
	c.shows(run)
	folder := t.TempDir()
	c.call("Browser.setDownloadBehavior", map[string]any{"behavior": "allow", "downloadPath": folder, "eventsEnabled": true}, nil)
	c.await("Browser.downloadProgress", `"state":"completed"`, func() { c.eval(`document.querySelector("#save").click()`) })
	path := filepath.Join(folder, "redlock-S4-redlock-3.json")
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	file, err := search.Decode(play.Registry(), text)
	require.NoError(t, err)
	assert.Equal(t, run.Result.Log.Digest(), file.Digest)
	assert.Contains(t, runCommand(t, "go run ./simulation/cmd/redlocksim replay -quiet "+path), "the trace is the recorded one, byte for byte")

	var root, input struct {
		Root   struct{ NodeID int }
		NodeID int
	}
	open := func(name, content string) string {
		t.Helper()
		path := filepath.Join(t.TempDir(), name)
		require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
		c.eval(`document.querySelector("#file-note").textContent = ""`)
		c.call("DOM.getDocument", nil, &root)
		c.call("DOM.querySelector", map[string]any{"nodeId": root.Root.NodeID, "selector": "#open"}, &input)
		c.call("DOM.setFileInputFiles", map[string]any{"nodeId": input.NodeID, "files": []string{path}}, nil)
		c.until(`document.querySelector("#file-note").textContent`)
		return c.text(`document.querySelector("#file-note").textContent`)
	}
	c.open(base+"#base=S1&design=default&seed=0", 1400, false)
	mine := played(t, c.state())
	c.shows(mine)
	for name, test := range map[string]struct{ content, says string }{
		"big.json":     {strings.Repeat(" ", 600_000), "big.json has 0.6 MB; a replay file of this page has at most 0.5 MB."},
		"later.json":   {strings.Replace(string(text), `"version": 2`, `"version": 3`, 1), "it is of version 3, and only 2 can be read here"},
		"half.json":    {string(text[:len(text)/2]), "cut off after"},
		"picture.json": {"\x89PNG", "it isn't a replay file"},
		"empty.json":   {"", "it is empty"},
	} {
		assert.Contains(t, open(name, test.content), test.says, name)
		c.shows(mine)
	}
	assert.Equal(t, "This is the run of mine.json, with the same trace.", open("mine.json", string(text)))
	c.shows(run)
	assert.Equal(t, play.Setup{Base: "S4", Design: "redlock", Seed: 3, Schedule: run.Schedule}, c.state())

	// Recorded by other code: the same file with another trace and the right sum.
	file.Digest = strings.Repeat("0", 64)
	other, err := file.Encode()
	require.NoError(t, err)
	assert.Equal(t, "other.json was recorded with other code: the trace differs.", open("other.json", string(other)))
	assert.Empty(t, c.problems)
}

// What the tour asks for works: a pause that is stretched breaks the run, and shortened repairs it.
func TestTourDrag(t *testing.T) {
	t.Parallel() // it waits for the compiler
	c, base := opened(t)
	c.open(base+"#tour=3", 1400, false)
	c.shows(played(t, c.state()))
	const end = `document.querySelector(".grip-end")`
	// Behind c2's write.
	c.pull(end, func(float64) float64 {
		x, _ := c.middle(`[...document.querySelectorAll("#timeline [width='8']")].at(-1)`)
		return x + 24
	})
	c.until(`document.querySelector("#verdict").textContent.startsWith("Violated") && !document.querySelector("main").classList.contains("stale") && location.hash.includes("tour=3")`)
	longer := c.state()
	assert.Greater(t, longer.Schedule[0].For, 10*time.Second)
	c.shows(played(t, longer))
	c.pull(end, func(float64) float64 {
		x, _ := c.middle(`document.querySelector("#timeline .grip")`)
		return x - 100
	})
	c.until(`document.querySelector("#verdict").textContent === "Nothing is violated" && !document.querySelector("main").classList.contains("stale")`)
	c.shows(played(t, c.state()))
	assert.Less(t, c.state().Schedule[0].For, 10*time.Second)
	assert.Empty(t, c.problems)
}
