package book_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/simulation/box"
)

func init() {
	generators["box-kinds"] = boxKinds
	generators["box-faults"] = boxFaults
	generators["box-words"] = boxWords
	generators["box-clients"] = boxClients
	generators["box-schedules"] = boxSchedules
	generators["box-report"] = boxReport
}

// boxKinds is a table of the kinds.
func boxKinds([]string) (string, error) {
	var rows [][]string
	for _, kind := range box.Kinds() {
		rows = append(rows, []string{string(kind), kind.Means()})
	}
	return table("finding | what it means", rows), nil
}

// boxFaults is a table of the faults, and when they have struck.
func boxFaults([]string) (string, error) {
	var rows [][]string
	for _, fault := range box.Faults() {
		rows = append(rows, []string{fault, box.Strikes(fault)})
	}
	return table("fault | it has struck if", rows), nil
}

// stepConstant is the constant of a word of a schedule, whose comment says what it means.
var stepConstant = regexp.MustCompile(`(?m)^\t\w+ +verb += "(\w+)" +// (.*)$`)

// boxWords is the table of the words of a schedule, but for those of live.
func boxWords([]string) (string, error) {
	text, err := os.ReadFile("../simulation/box/step.go")
	if err != nil {
		return "", err
	}
	_, list, _ := strings.Cut(string(text), "const (")
	blocks := strings.Split(list, "const (")
	var rows [][]string
	for i, of := range [][2]string{{"a client", "c1 %s"}, {"its process", "%s c1"}, {"a server", "%s A"}, {"a client's link to a server", "%s c1 A"}} {
		var words []string
		for _, found := range stepConstant.FindAllStringSubmatch(blocks[i], -1) {
			if !strings.HasPrefix(found[2], "live: ") {
				words = append(words, fmt.Sprintf("**"+of[1]+"**: %s", found[1], found[2]))
			}
		}
		rows = append(rows, []string{of[0], strings.Join(words, "<br>")})
	}
	return table("what | steps", rows), nil
}

// recordedClient is a lock client that was played, and what its authors write.
type recordedClient struct {
	// Record is the name of its recording, and Command starts its driver.
	Record, Command string
	// File has what it Says of itself: in Go's module cache, in simulation/drivers/node, in this
	// repository, or elsewhere. Admits are what the same file says that it doesn't do.
	File, Says string
	Admits     []struct{ Of, Says string }

	box.Report `json:"-"`
}

// clientsFile lists the clients in the order of the page. Copy quotations from their file.
const clientsFile = "testdata/clients.json"

func recordedClients() ([]recordedClient, error) {
	clients, err := readRecorded[[]recordedClient](clientsFile)
	for i := range clients {
		if err == nil {
			clients[i].Report, err = readRecorded[box.Report]("testdata/clients/" + clients[i].Record + ".json")
		}
	}
	return clients, err
}

// What is quoted is in the file of the version that was played, where that is on this machine.
func TestClientsSayIt(t *testing.T) {
	clients, err := recordedClients()
	require.NoError(t, err)
	records, err := filepath.Glob("testdata/clients/*.json")
	require.NoError(t, err)
	require.Len(t, clients, len(records), "each recording is in "+clientsFile)
	modules, err := exec.Command("go", "env", "GOMODCACHE").Output()
	require.NoError(t, err)
	plain := func(text string) string {
		return strings.Join(strings.Fields(strings.NewReplacer("//", "", "*", "", "`", "", "_", "").Replace(text)), " ")
	}
	for _, c := range clients {
		if _, version, ok := strings.Cut(strings.ReplaceAll(c.File, "/@", "/"), "@"); ok { // "/@" is npm's
			require.True(t, strings.HasPrefix(version, c.Version+"/"), "%s was played in version %s", c.File, c.Version)
		}
		for _, root := range []string{strings.TrimSpace(string(modules)), "../simulation/drivers/node", "..", "/"} {
			text, err := os.ReadFile(filepath.Join(root, c.File))
			if err != nil {
				continue
			}
			require.Contains(t, plain(string(text)), plain(c.Says), c.File)
			for _, a := range c.Admits {
				require.Contains(t, plain(string(text)), plain(a.Says), c.File)
			}
		}
	}
}

// boxClients is the table of the clients: what they say, what broke, and what didn't.
func boxClients([]string) (string, error) {
	clients, err := recordedClients()
	if err != nil {
		return "", err
	}
	var rows [][]string
	for _, c := range clients {
		says := fmt.Sprintf("\u201c%s\u201d", c.Says)
		for _, a := range c.Admits {
			says += fmt.Sprintf(" %s: \u201c%s\u201d", a.Of, a.Says)
		}
		source := "`" + filepath.Base(c.File) + "`"
		if strings.HasPrefix(c.File, "http") {
			source = "[the document](" + c.File + ")"
		}
		broke, held := boxResults(c.Report)
		rows = append(rows, []string{strings.Join(strings.Fields(c.Name+" "+c.Version), " "), says + " " + source, broke, held})
	}
	return table("client | in its own words | broken, in how many plays | nothing broke", rows), nil
}

// boxResults lists the faults that broke something, the worst first, and those that didn't.
func boxResults(r box.Report) (broke, held string) {
	var bad, good []string
	plays := 0
	for _, t := range r.Tallies {
		if len(t.Kinds) == 0 {
			good = append(good, t.Fault)
			plays += t.Plays
			continue
		}
		var kinds []string
		for _, k := range t.Kinds {
			kind := string(k.Kind)
			switch by := t.By(k); {
			case by == "none" && t.Fault != by:
				kind += " (also without it)"
			case by != t.Fault:
				kind += " (by " + by + ")"
			case k.Again > 0 && k.Repeated == 0:
				kind += " (not again)"
			}
			kinds = append(kinds, kind)
		}
		bad = append(bad, fmt.Sprintf("**%s** %s: %d of %d", t.Fault, strings.Join(kinds, ", "), t.Broke, t.Plays))
	}
	for _, t := range r.Tallies {
		if t.Refused > 0 {
			bad = append(bad, fmt.Sprintf("late writes refused by token in %d of %d plays with **%s**", t.Refused, t.Plays, t.Fault))
		}
	}
	if len(good) > 0 {
		held = fmt.Sprintf("%s: %d plays", strings.Join(good, ", "), plays)
	}
	return strings.Join(bad, "; "), held
}

// boxSchedules has the shortest schedule for each finding that came again. A client's findings with the
// same one share a row.
func boxSchedules([]string) (string, error) {
	clients, err := recordedClients()
	if err != nil {
		return "", err
	}
	var rows [][]string
	places := map[string]int{} // of the rows
	for _, fault := range box.Faults() {
		for _, kind := range box.Kinds() {
			client, best := recordedClient{}, box.Broken{}
			for _, c := range clients {
				for _, t := range c.Tallies {
					for _, k := range t.Kinds {
						shorter := best.Kind == "" || len(k.Shown.Schedule) < len(best.Shown.Schedule)
						if t.Fault == fault && t.By(k) == fault && k.Kind == kind && k.Repeated > 0 && shorter {
							client, best = c, k
						}
					}
				}
			}
			var steps []string
			for _, step := range best.Shown.Schedule {
				steps = append(steps, step.String())
			}
			schedule := strings.Join(steps, "; ")
			row := fault + client.Record + schedule
			if at, ok := places[row]; ok {
				rows[at][1] += ", " + string(kind)
			} else if best.Kind != "" {
				places[row] = len(rows)
				rows = append(rows, []string{fault, string(kind), schedule, fmt.Sprintf("%s, %d of %d", client.Name, best.Repeated, best.Again)})
			}
		}
	}
	return table("fault | finding | shortest schedule | of, and again in", rows), nil
}

// boxReport is the command that shows a finding again, by the recording's name, the fault and the
// kind, such as "02-redsync network: two holders".
func boxReport(words []string) (string, error) {
	clients, err := recordedClients()
	if err != nil {
		return "", err
	}
	for _, c := range clients {
		for _, t := range c.Tallies {
			for _, k := range t.Kinds {
				if fmt.Sprintf("%s %s: %s", c.Record, t.Fault, k.Kind) != strings.Join(words, " ") {
					continue
				}
				r := c.Replay(t, k)
				r.Text = "" // it stands above
				replay, err := json.Marshal(r)
				return fmt.Sprintf("%s %s, %s: %s. In %d of %d plays; again in %d of %d.\n\n```text\nredlocksim box -replay /dev/stdin -- %s <<'END'\n%s\nEND\n```\n",
					c.Name, c.Version, c.Servers, k.Finding().Text, k.Plays, t.Plays, k.Repeated, k.Again, c.Command, replay), err
			}
		}
	}
	return "", fmt.Errorf("no recording shows %q", strings.Join(words, " "))
}
