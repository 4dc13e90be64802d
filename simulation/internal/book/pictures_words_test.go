package book_test

import "github.com/redquorum/redlock/simulation/internal/drawing"

// titled is a box with lines in its middle.
func titled(p *drawing.Canvas, class string, x, y, w, h float64, lines ...string) {
	p.Box(class, x, y, w, h).R = 3
	p.Lines("m", x+w/2, y+h/2-float64(len(lines)-1)*7.5+4, lines...)
}

// drawLease draws the states of a lease, and the error of each way out of them. Errors are those of
// package quorum.
func drawLease() *drawing.Canvas {
	p := &drawing.Canvas{
		Title:  "The states of a lease, and the error of each edge",
		Desc:   "A round that is won gives a lease. A lost round gives ErrTaken, ErrNoQuorum, ErrTooSlow or ErrTokenRace. An extension moves the deadline, or gives ErrNotExtended, and the lease stands until the old one. A lease ends by its release, by a hand-off, at its deadline with ErrExpired, or earlier with ErrLost when its keys are gone. A release afterwards says ErrNotHeld if it finds that the work went on without the lock.",
		Height: 404,
	}
	p.Text("h", 0, 14, "A lease, and the error of each edge")
	titled(p, "card", 10, 28, 120, 30, "a round")
	p.Arrow("", 130, 43, 206, 43)
	p.Text("al", 210, 40, "ErrTaken  ErrNoQuorum")
	p.Text("al", 210, 56, "ErrTooSlow  ErrTokenRace")
	p.Arrow("", 70, 58, 70, 100)
	p.Text("ok", 78, 84, "won by a quorum")

	titled(p, "yes", 10, 104, 120, 46, "held", "until its deadline")
	p.Arrow("", 130, 114, 172, 114, 172, 138, 136, 138)
	p.Text("ok", 180, 112, "extended: a later deadline")
	p.Text("al", 180, 128, "ErrNotExtended:")
	p.Text("", 180, 143, "the old deadline stands")

	p.Arrow("", 24, 150, 24, 186)
	titled(p, "card", 10, 190, 74, 30, "released")
	p.Text("s", 10, 237, "ErrReleased")
	p.Text("s", 10, 252, "from now on")

	p.Arrow("", 70, 150, 70, 172, 136, 172, 136, 186)
	titled(p, "card", 96, 190, 84, 30, "handed off")
	p.Text("s", 96, 237, "ErrHandedOff")
	p.Text("s", 96, 252, "here; Resume")
	p.Text("s", 96, 267, "goes on there")

	p.Arrow("", 100, 150, 100, 164, 240, 164, 240, 186)
	titled(p, "wait", 196, 190, 84, 30, "expired")
	p.Text("al", 196, 237, "ErrExpired")
	p.Text("s", 196, 252, "its deadline")
	p.Text("s", 196, 267, "has passed")

	p.Arrow("", 118, 150, 118, 157, 344, 157, 344, 186)
	titled(p, "no", 296, 190, 100, 30, "lost early")
	p.Text("al", 296, 237, "ErrLost")
	p.Text("s", 296, 252, "no quorum can")
	p.Text("s", 296, 267, "have its keys")

	p.Arrow("", 238, 276, 238, 316)
	p.Line("", 346, 276, 346, 298)
	p.Line("", 346, 298, 238, 298)
	titled(p, "pale", 96, 320, 216, 30, "the release afterwards")
	p.Text("al e", 196, 370, "ErrNotHeld")
	p.Text("", 202, 370, "work went on without the lock")
	p.Text("al e", 196, 388, "ErrUnreachable")
	p.Text("", 202, 388, "too few servers answered")
	return p
}

// drawDomains draws three servers with an address each, and one address in front of them.
func drawDomains() *drawing.Canvas {
	p := &drawing.Canvas{
		Title: "Three failure domains with an address each; and one Service in front, which is one vote",
		Desc:  "Right: the client has three addresses, each of which leads to one server in a zone of its own, with a disk and a clock of its own. A majority survives the loss of one. Wrong: three addresses, or one, that all lead to one Service in front of the servers. Each connection may reach any of them, so the client doesn't know whose vote it has; the library notices and gives no lock.",
	}
	servers := []string{"a", "b", "c"}
	p.Text("h", 0, 14, "Three failure domains, an address each")
	titled(p, "b0", 150, 26, 100, 28, "client")
	for i, name := range servers {
		x := 8 + 132*float64(i)
		p.Arrow("", 200, 54, x+60, 88)
		p.Box("pale", x, 92, 120, 92)
		p.Text("s m", x+60, 106, "zone "+name)
		titled(p, "card", x+10, 112, 100, 28, "redlock-"+name)
		p.Text("m", x+60, 156, "own Service,")
		p.Text("m", x+60, 171, "disk and clock")
	}
	p.Text("ok", 8, 204, "One zone fails: two votes of three are left.")

	p.Text("h", 0, 240, "Not one Service in front of them")
	titled(p, "b0", 150, 252, 100, 28, "client")
	p.Arrow("", 200, 280, 200, 296)
	titled(p, "no", 110, 300, 180, 28, "one Service, or a proxy")
	for i, name := range servers {
		x := 8 + 132*float64(i)
		p.Arrow("cut", 200, 328, x+60, 356)
		titled(p, "card", x+10, 360, 100, 28, "redlock-"+name)
	}
	p.Lines("al", 8, 410, "Each new connection leads to another server.")
	y := p.Lines("", 8, 425,
		"Every vote names the run that it is meant for, so no two",
		"holders: the votes fail with ErrOtherRun, and the client",
		"gets no lock. Listed three times, it is ErrDuplicate.")
	p.Height = y + 2
	return p
}

// drawDecision draws which lock to take.
func drawDecision() *drawing.Canvas {
	p := &drawing.Canvas{
		Title: "Which lock to take",
		Desc:  "If it is acceptable that work is done twice now and then: one Redis with SET NX PX if you can wait for one server to come back, and this library if you can't. If data is corrupted then: a row lock if all data is in one SQL database; this library, or one Redis, with a token if the resource can check one; and if nothing can, no lock that expires is safe.",
	}
	const q, a = 8.0, 236.0 // where questions and answers begin
	ask := func(y float64, lines ...string) { titled(p, "card", q, y, 184, 46, lines...) }
	take := func(class string, y float64, lines ...string) {
		p.Arrow("", q+184, y+23, a-4, y+23)
		p.Text("s m", (q+184+a-4)/2-2, y+17, "yes")
		titled(p, class, a, y, drawing.Width-a-4, 46, lines...)
	}
	down := func(y float64) {
		p.Arrow("", q+40, y+46, q+40, y+74)
		p.Text("s", q+48, y+65, "no")
	}
	p.Text("h", 0, 14, "What if the lock is held twice?")
	p.Text("n", 0, 40, "Work is done twice, which is acceptable")
	ask(50, "Can you wait until one", "server is back?")
	take("yes", 50, "one Redis,", "SET NX PX")
	down(50)
	titled(p, "yes", q, 128, 184, 30, "this library")

	p.Text("n", 0, 190, "Data is corrupted")
	ask(200, "Is all of it in one SQL", "database?")
	take("yes", 200, "a row lock in the", "write's transaction")
	down(200)
	ask(278, "Can the resource refuse", "an older token?")
	take("yes", 278, "this library, or one", "Redis, with a token")
	down(278)
	ask(356, "Can you make the work", "idempotent?")
	take("wait", 356, "do that; the lock", "saves work only")
	down(356)
	titled(p, "no", q, 434, 184, 46, "no lock that expires", "is safe")
	p.Height = 488
	return p
}
