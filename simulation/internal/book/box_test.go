package book_test

import (
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

// stepConstant is the constant of a word of a schedule, whose comment says what it means.
var stepConstant = regexp.MustCompile(`(?m)^\t\w+ +verb += "(\w+)" +// (.*)$`)

// boxWords is the table of the words of a schedule, but for those of live. Its word is "servers" for those alone that
// redlocksim servers takes, where all clients share the links.
func boxWords(words []string) (string, error) {
	text, err := os.ReadFile("../simulation/box/step.go")
	if err != nil {
		return "", err
	}
	_, list, _ := strings.Cut(string(text), "const (")
	forms := [][2]string{{"a client", "c1 %s"}, {"its process", "%s c1"}, {"a server", "%s A"}, {"a client's link to a server", "%s c1 A"}}
	if len(words) > 0 {
		forms[2], forms[3] = [2]string{"a server", "%s A"}, [2]string{"the link to a server", "%s A"}
	}
	var rows [][]string
	for i, block := range strings.Split(list, "const (") {
		var steps []string
		for _, found := range stepConstant.FindAllStringSubmatch(block, -1) {
			says := found[2]
			if strings.HasPrefix(says, "live: ") || len(words) > 0 && (i < 2 || found[1] == "trap" || found[1] == "free") {
				continue
			}
			if len(words) > 0 {
				says, _, _ = strings.Cut(strings.ReplaceAll(says, "c1 ", ""), ", except")
			}
			steps = append(steps, fmt.Sprintf("**"+forms[i][1]+"**: %s", found[1], says))
		}
		if len(steps) > 0 {
			rows = append(rows, []string{forms[i][0], strings.Join(steps, "<br>")})
		}
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
	limits := slices.DeleteFunc(box.Faults(), func(fault string) bool { return len(box.Limits(fault)) == 0 })
	var rows [][]string
	quoted := map[string]bool{}
	quote := func(text string) string {
		if quoted[text] {
			return "as above"
		}
		quoted[text] = true
		return "\u201c" + text + "\u201d"
	}
	for _, c := range clients {
		says := quote(c.Says)
		for _, a := range c.Admits {
			says += fmt.Sprintf("; %s: %s", strings.ToLower(a.Of), quote(a.Says))
		}
		source := "`" + filepath.Base(c.File) + "`"
		if strings.HasPrefix(c.File, "http") {
			source = "[the document](" + c.File + ")"
		}
		shown, own := boxResults(c.Report)
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

// boxResults lists the faults under which a client shows what the Redis document's lock shows, and its own findings with
// theirs. What didn't come again is left out.
func boxResults(r box.Report) (limits, own []string) {
	places := map[string]int{} // of the own ones, by their faults
	for _, kind := range box.Kinds() {
		var faults []string
		for _, k := range r.Broken {
			switch {
			case k.Kind != kind || k.Again > 0 && k.Repeated == 0:
			case !k.Limit:
				faults = append(faults, k.Fault)
			case !slices.Contains(limits, k.Fault):
				limits = append(limits, k.Fault)
			}
		}
		list := strings.Join(faults, ", ")
		if at, ok := places[list]; ok {
			own[at] = strings.Replace(own[at], ":", ", "+string(kind)+":", 1)
		} else if list != "" {
			places[list] = len(own)
			own = append(own, string(kind)+": "+list)
		}
	}
	slices.SortFunc(limits, func(a, b string) int { return slices.Index(box.Faults(), a) - slices.Index(box.Faults(), b) })
	return limits, own
}

// boxSchedules has each kind of finding that some client shows on its own account, in the shortest schedule that showed
// it again. Kinds with the same schedule share a row.
func boxSchedules([]string) (string, error) {
	clients, err := recordedClients()
	if err != nil {
		return "", err
	}
	var rows [][]string
	places := map[string]int{} // of the rows
	for _, kind := range box.Kinds() {
		client, best := "", &box.Broken{}
		for _, c := range clients {
			for _, k := range c.Broken {
				shorter := client == "" || len(k.Shown.Schedule) < len(best.Shown.Schedule)
				if k.Kind == kind && !k.Limit && k.Repeated > 0 && shorter {
					client, best = c.Name, k
				}
			}
		}
		schedule := best.Shown.Schedule.String()
		if at, ok := places[client+schedule]; ok {
			rows[at][0] += ", " + string(kind)
		} else if client != "" {
			places[client+schedule] = len(rows)
			rows = append(rows, []string{string(kind), schedule, fmt.Sprintf("%s, %d of %d", client, best.Repeated, best.Again)})
		}
	}
	return table("finding | shortest schedule | of, and again in", rows), nil
}

// boxReport says what was found, and the command that shows it again. Its words are a recording's name, the fault and the
// kind, as in "02-redsync network: two holders".
func boxReport(words []string) (string, error) {
	clients, err := recordedClients()
	if err != nil {
		return "", err
	}
	of := strings.Join(words, " ")
	for _, c := range clients {
		for _, k := range c.Broken {
			if fmt.Sprintf("%s %s: %s", c.Record, k.Fault, k.Kind) == of {
				plays := 0
				for _, t := range c.Tallies {
					if t.Fault == k.Fault {
						plays = t.Plays
					}
				}
				return fmt.Sprintf("%s: %s (%d of %d plays, again in %d of %d).\n\n```text\nredlocksim box %s -- %s\n```\n",
					c.Version, k.Finding().Text, k.Plays, plays, k.Repeated, k.Again, k.Flags(), c.Command), nil
			}
		}
	}
	return "", fmt.Errorf("no recording shows %q", of)
}
