package mutants

// ofExtensions breaks how leases are extended.
func ofExtensions() []Mutant {
	return []Mutant{{
		Name: "restored-counts", Breaks: "an instance where the lease is put back doesn't count for the extension",
		Edits: edit("quorum/extend.go", "t.errand.send(Command{Op: Extend, Key: h.key, Value: h.value, TTL: t.extension.ttl}, now)",
			"t.errand.send(Command{Op: Restore, Key: h.key, Value: h.value, TTL: t.extension.ttl, Token: t.extension.lease.token, Fence: h.c.cfg.Fencing == On, CounterTTL: h.c.cfg.CounterTTL, Set: h.c.cfg.Set}, now)"),
		Judge: test("./quorum", "^TestRestoredInstancesDoNotCount$"),
	}, {
		Name: "extension-revives", Breaks: "a lease that has expired isn't extended, nor put back",
		Edits: []Edit{
			{"quorum/lease.go", "\t\tl.end(l.expiry())\n\t\treturn 0\n", "\t\treturn 0\n"},
			{"quorum/extend.go", "\tcase left <= 0:\n", "\tcase left < 0:\n"},
			{"quorum/extend.go", "\tif l.Validity() <= 0 {\n\t\treturn l.Err()\n\t}\n", ""},
			{"quorum/extend.go", "t.errand.send(Command{Op: Extend, Key: h.key, Value: h.value, TTL: t.extension.ttl}, now)",
				"t.errand.send(Command{Op: Restore, Key: h.key, Value: h.value, TTL: t.extension.ttl, Token: t.extension.lease.token, Fence: h.c.cfg.Fencing == On, CounterTTL: h.c.cfg.CounterTTL, Set: h.c.cfg.Set}, now)"},
		},
		Judge: scenario("S1"),
	}, {
		Name: "late-extension-revives", Breaks: "replies after the deadline revive nothing",
		Edits: []Edit{
			{"quorum/extend.go", "\tif l.Validity() <= 0 {\n\t\treturn l.Err()\n\t}\n", ""},
			{"quorum/extend.go", "\tif l.over != nil {\n\t\treturn l.over\n\t}\n", "\tl.over = nil\n"},
		},
		Judge: test("./quorum", "^TestRepliesAfterTheDeadlineDoNotRevive$"),
	}, {
		Name: "extension-in-part", Breaks: "an extension needs a quorum",
		Edits: edit("quorum/extend.go", "\tif verdict == Lost {\n", "\tif verdict == Lost && tally.Granted == 0 {\n"),
		Judge: scenario("S11c"),
	}, {
		Name: "extension-from-reply", Breaks: "an extension counts from before it was sent",
		Edits: edit("quorum/extend.go", "l.start, l.length = start, length", "l.start, l.length = l.hold.c.reader.Now(), length"),
		Judge: scenario("S11b"),
	}, {
		Name: "extension-start-late", Breaks: "an extension counts from before it was sent",
		Edits: edit("quorum/extend.go", "\tstart := c.reader.Now() // before anything is sent: no key lives shorter than ttl from here\n\te := l.newExtension(ctx, ttl, timeout)\n\te.run(start)\n",
			"\te := l.newExtension(ctx, ttl, timeout)\n\te.run(drift.Instant{})\n\tstart := c.reader.Now()\n"),
		Judge: scenario("M3"),
	}, {
		Name: "extension-shortens", Breaks: "an extension that is shorter than what is left isn't sent",
		Edits: edit("quorum/extend.go", "\tcase length < left:\n", "\tcase length < 0:\n"),
		Judge: scenario("M4"),
	}, {
		Name: "failed-extension-releases", Breaks: "a lease that couldn't be extended keeps its keys until its deadline",
		Edits: edit("quorum/extend.go", "\t\treturn l.extendError(ErrNotExtended, nil, e.snapshot())\n", "\t\tl.hold.release(ctx, nil, func(int, Ballot) {})\n\t\treturn l.extendError(ErrNotExtended, nil, e.snapshot())\n"),
		Judge: scenario("S11e"),
	}, {
		Name: "jumped-clock-extends", Breaks: "a grant doesn't count on an instance in quarantine, be it of an extension",
		Edits: edit("quorum/member.go", "\tcase s.err != nil:\n\t\treturn s.err\n\tcase !s.known:", "\tcase !s.known:"),
		Judge: test("./quorum", "^TestAnExtensionDoesNotCountAClockThatJumped$"),
	}, {
		Name: "restores-after-release", Breaks: "nothing is put back once a release was queued",
		Edits: edit("quorum/hold.go", "return !h.gone && (!h.spots", "return (!h.spots"),
		Judge: test("./quorum", "^TestALateExtensionPutsNothingBack$"),
	}, {
		Name: "restores-unextended", Breaks: "an extension that failed puts nothing back",
		Edits: edit("quorum/extend.go", "if !won || !h.needsRestore(t.i) {", "if won && !h.needsRestore(t.i) {"),
		Judge: test("./quorum", "^TestNothingIsPutBackByAnExtensionThatFailed$"),
	}, {
		Name: "no-top-up", Breaks: "an extension puts the lease back where it is lacking",
		Edits: edit("quorum/extend.go", "if !won || !h.needsRestore(t.i) {", "if !won || true || !h.needsRestore(t.i) {"),
		Judge: scenario("S19"),
	}, {
		Name: "life-without-end", Breaks: "MaxLife bounds a lease that is kept alive",
		Edits: edit("quorum/keepalive.go", "\tif l.terms.MaxLife == 0 {\n", "\tif l.terms.MaxLife >= 0 {\n"),
		Judge: scenario("S11f"),
	}}
}
