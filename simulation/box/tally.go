package box

// Tally counts the plays of one fault.
type Tally struct {
	Fault string `json:"fault"`
	Plays int    `json:"plays"`
	// Struck counts the plays in which the fault struck: a client held the lock or asked for it then.
	Struck int `json:"struck"`
	// Broke counts the plays with findings, Refused those in which the resource refused a write.
	Broke   int `json:"broke"`
	Refused int `json:"refused,omitempty"`
}

// count counts a play.
func (t *Tally) count(p Play) {
	t.Plays++
	if p.struck(t.Fault) {
		t.Struck++
	}
	for e := range p.Record.All() {
		if e.Words == refused {
			t.Refused++
			break
		}
	}
	if len(p.Findings) > 0 {
		t.Broke++
	}
}
