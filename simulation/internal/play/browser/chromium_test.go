package browser_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// chromium is a headless browser with one page, driven by the DevTools protocol over pipes. Its
// goroutine is the test's.
type chromium struct {
	t       *testing.T
	to      *os.File
	from    *bufio.Reader
	session string
	n       int
	// problems are exceptions, errors in the console, and what the policy has blocked.
	problems []string
}

// newChromium starts a browser, which ends with the test. Build the page before: its compilation doesn't count as
// the browser's time. With REDLOCK_REQUIRE_CHROMIUM=1 a missing browser is a failure.
func newChromium(t *testing.T) *chromium {
	t.Helper()
	path, err := exec.LookPath("chromium")
	if err != nil {
		require.Empty(t, os.Getenv("REDLOCK_REQUIRE_CHROMIUM"), "chromium isn't installed: %v", err)
		t.Skip("chromium isn't installed: ", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 6*time.Minute) // a browser that hangs ends, and so do its pipes
	t.Cleanup(cancel)
	theirIn, ourOut, err := os.Pipe()
	require.NoError(t, err)
	ourIn, theirOut, err := os.Pipe()
	require.NoError(t, err)
	cmd := exec.CommandContext(ctx, path, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--disable-dev-shm-usage", "--remote-debugging-pipe", "--user-data-dir="+t.TempDir())
	cmd.ExtraFiles = []*os.File{theirIn, theirOut} // 3 and 4
	// Wait waits for every process that has this pipe, so that none of them writes into the profile
	// while it is removed.
	cmd.Stderr, cmd.WaitDelay = &bytes.Buffer{}, time.Minute
	require.NoError(t, cmd.Start())
	require.NoError(t, theirIn.Close())
	require.NoError(t, theirOut.Close())
	c := &chromium{t: t, to: ourOut, from: bufio.NewReader(ourIn)}
	t.Cleanup(func() {
		c.session = ""
		_ = c.send("Browser.close", nil)
		_ = cmd.Wait() // or ctx has ended it
		_ = ourOut.Close()
		_ = ourIn.Close()
	})
	target := struct{ TargetID string }{}
	c.call("Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	attached := struct{ SessionID string }{}
	c.call("Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &attached)
	c.session = attached.SessionID
	for _, domain := range []string{"Page", "Runtime", "Log"} {
		c.call(domain+".enable", nil, nil)
	}
	return c
}

// send sends a command.
func (c *chromium) send(method string, params any) error {
	c.n++
	message := map[string]any{"id": c.n, "method": method}
	if params != nil {
		message["params"] = params
	}
	if c.session != "" {
		message["sessionId"] = c.session
	}
	text, err := json.Marshal(message)
	if err != nil {
		return err
	}
	_, err = c.to.Write(append(text, 0))
	return err
}

// call sends a command, and takes the result.
func (c *chromium) call(method string, params, result any) {
	c.t.Helper()
	require.NoError(c.t, c.send(method, params))
	for {
		text, err := c.from.ReadBytes(0)
		require.NoError(c.t, err, "chromium has ended during %s", method)
		var message struct {
			ID     int
			Method string
			Params json.RawMessage
			Result json.RawMessage
			Error  *struct{ Message string }
		}
		require.NoError(c.t, json.Unmarshal(bytes.TrimSuffix(text, []byte{0}), &message))
		if message.Method != "" {
			c.notice(message.Method, message.Params)
			continue
		}
		if message.ID != c.n {
			continue
		}
		require.Nil(c.t, message.Error, "%s: %+v", method, message.Error)
		if result != nil {
			require.NoError(c.t, json.Unmarshal(message.Result, result))
		}
		return
	}
}

// notice keeps what went wrong on the page.
func (c *chromium) notice(method string, params json.RawMessage) {
	switch method {
	case "Runtime.exceptionThrown":
		c.problems = append(c.problems, string(params))
	case "Log.entryAdded":
		var p struct {
			Entry struct{ Level, Text, URL string }
		}
		if json.Unmarshal(params, &p) == nil && p.Entry.Level == "error" {
			c.problems = append(c.problems, p.Entry.Text+" "+p.Entry.URL)
		}
	}
}

// eval evaluates JavaScript on the page, waits for its promise, and returns its value as JSON.
func (c *chromium) eval(script string) string {
	c.t.Helper()
	var out struct {
		Result           struct{ Value json.RawMessage }
		ExceptionDetails json.RawMessage
	}
	c.call("Runtime.evaluate", map[string]any{"expression": script, "awaitPromise": true, "returnByValue": true}, &out)
	require.Empty(c.t, string(out.ExceptionDetails), script)
	return string(out.Result.Value)
}

// text is eval for a text.
func (c *chromium) text(script string) (value string) {
	c.t.Helper()
	require.NoError(c.t, json.Unmarshal([]byte(c.eval(script)), &value), script)
	return value
}

// until waits for a condition on the page. A promise on the page would be lost with a page that is left, and no event
// announces every condition.
func (c *chromium) until(condition string) {
	c.t.Helper()
	for c.eval(`(() => { try { return Boolean(`+condition+`) } catch { return false } })()`) != "true" {
		time.Sleep(10 * time.Millisecond)
	}
}

// look sets the width in pixels, and the theme.
func (c *chromium) look(width int, dark bool) {
	c.t.Helper()
	scheme := "light"
	if dark {
		scheme = "dark"
	}
	c.call("Emulation.setEmulatedMedia", map[string]any{"features": []map[string]string{{"name": "prefers-color-scheme", "value": scheme}}}, nil)
	c.call("Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": false}, nil)
}

// open opens an address, at a width in pixels.
func (c *chromium) open(address string, width int, dark bool) {
	c.t.Helper()
	c.look(width, dark)
	c.call("Page.navigate", map[string]any{"url": address}, nil)
	c.until(`document.readyState === "complete" && document.querySelector("#timeline svg") && !document.querySelector("main").classList.contains("stale")`)
}

// set changes a field, as a reader does.
func (c *chromium) set(selector, value string) {
	c.t.Helper()
	c.eval(fmt.Sprintf(`(() => { const e = document.querySelector(%q); e.value = %q; e.dispatchEvent(new Event("change")) })()`, selector, value))
}
