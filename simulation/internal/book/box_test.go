package book_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
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
		rows = append(rows, []string{string(kind), kind.Means(), kind.Could()})
	}
	return table("finding | what it means | it could have been found if", rows), nil
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

// boxClients is the table of the clients: what they say, and what broke. Where the lock of the Redis document breaks,
// too, the fault alone is named.
func boxClients([]string) (string, error) {
	clients, err := recordedClients()
	if err != nil {
		return "", err
	}
	references, err := readRecorded[[]box.Reference]("../simulation/box/reference.json")
	if err != nil {
		return "", err
	}
	var limits []string
	var rows [][]string
	admitted := map[string]bool{}
	for _, c := range clients {
		reference := references[slices.IndexFunc(references, func(r box.Reference) bool { return (r.Count == 1) == (c.Count == 1) })]
		if limits == nil {
			limits = slices.DeleteFunc(box.Faults(), func(fault string) bool { return len(reference.Faults[fault]) == 0 })
		}
		says := fmt.Sprintf("\u201c%s\u201d", c.Says)
		for _, a := range c.Admits {
			if admitted[a.Says] {
				says += fmt.Sprintf(" %s, as above.", a.Of)
				continue
			}
			admitted[a.Says] = true
			says += fmt.Sprintf(" %s: \u201c%s\u201d", a.Of, a.Says)
		}
		source := "`" + filepath.Base(c.File) + "`"
		if strings.HasPrefix(c.File, "http") {
			source = "[the document](" + c.File + ")"
		}
		shown, own := boxResults(c.Report, reference)
		if slices.Equal(shown, limits) {
			shown = []string{"all"}
		}
		plays := 0
		for _, t := range c.Tallies {
			plays += t.Plays
			if t.Refused > 0 {
				own = append(own, fmt.Sprintf("late writes refused by token: %s", t.Fault))
			}
		}
		rows = append(rows, []string{strings.Join(strings.Fields(c.Name+" "+c.Version), " "), says + " " + source, strings.Join(shown, ", "), strings.Join(own, "; "), strconv.Itoa(plays)})
	}
	return table("client | in its own words | limits, of "+strings.Join(limits, ", ")+" | its own findings | plays", rows), nil
}

// boxResults lists the faults under which a client shows what the reference shows, and its other findings with
// theirs. What didn't come again is left out.
func boxResults(r box.Report, reference box.Reference) (limits, own []string) {
	under := map[box.Kind][]string{}
	for _, t := range r.Tallies {
		for _, k := range t.Kinds {
			fault := t.By(k)
			list := under[k.Kind]
			switch {
			case k.Again > 0 && k.Repeated == 0 || slices.Contains(list, fault):
			case !slices.Contains(reference.Faults[fault], k.Kind):
				under[k.Kind] = append(list, fault)
			case !slices.Contains(limits, fault):
				limits = append(limits, fault)
			}
		}
	}
	inOrder := func(a, b string) int { return slices.Index(box.Faults(), a) - slices.Index(box.Faults(), b) }
	slices.SortFunc(limits, inOrder)
	kinds := map[string][]string{} // by their faults
	var faults []string
	for _, kind := range box.Kinds() {
		if len(under[kind]) == 0 {
			continue
		}
		slices.SortFunc(under[kind], inOrder)
		key := strings.Join(under[kind], ", ")
		if kinds[key] == nil {
			faults = append(faults, key)
		}
		kinds[key] = append(kinds[key], string(kind))
	}
	for _, key := range faults {
		own = append(own, strings.Join(kinds[key], ", ")+": "+key)
	}
	return limits, own
}

// boxSchedules has a row for the worst finding under each fault, and one for each other finding: each in the shortest
// schedule that showed it again.
func boxSchedules([]string) (string, error) {
	clients, err := recordedClients()
	if err != nil {
		return "", err
	}
	var rows [][]string
	seen := map[box.Kind]bool{}
	// show adds a row for a finding under one of the faults, and reports whether there is one.
	show := func(kind box.Kind, faults ...string) bool {
		fault, name, best := "", "", box.Broken{}
		for _, c := range clients {
			for _, t := range c.Tallies {
				for _, k := range t.Kinds {
					shorter := name == "" || len(k.Shown.Schedule) < len(best.Shown.Schedule)
					if k.Kind == kind && slices.Contains(faults, t.Fault) && t.By(k) == t.Fault && k.Repeated > 0 && shorter {
						fault, name, best = t.Fault, c.Name, k
					}
				}
			}
		}
		if name == "" {
			return false
		}
		var found, steps []string
		for _, f := range best.Shown.Findings {
			if !slices.Contains(found, string(f.Kind)) {
				found, seen[f.Kind] = append(found, string(f.Kind)), true
			}
		}
		for _, step := range best.Shown.Schedule {
			steps = append(steps, step.String())
		}
		rows = append(rows, []string{fault, strings.Join(found, ", "), strings.Join(steps, "; "), fmt.Sprintf("%s, %d of %d", name, best.Repeated, best.Again)})
		return true
	}
	for _, fault := range box.Faults() {
		slices.IndexFunc(box.Kinds(), func(kind box.Kind) bool { return show(kind, fault) })
	}
	for _, kind := range box.Kinds() {
		if !seen[kind] {
			show(kind, box.Faults()...)
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
