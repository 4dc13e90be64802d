package live

// Unplayed maps the IDs of scenarios without a live form to the reasons. Every scenario is
// either here or in Cases.
func Unplayed() map[string]string {
	const (
		clientClock = "a Go program asks the kernel for the time, not a library: one client's clock can't be stepped without stepping all clocks"
		suspended   = "a machine can't be suspended for one process among others"
		rates       = "clocks of different rates take hours to show"
		extension   = "it is about how a client uses the replies, which are the same from real servers"
		tokens      = "it is about when a client asks for its token; the box is told the token with the lock"
		timing      = "it needs messages to be late by some milliseconds, which a busy machine can't promise"
		address     = "the box moves addresses under any client, and so do TestSwitchedAddress and other tests of package instance"
		handles     = "a client of the box hands no lease off; package quorum's TestResumeInAnotherProcess and its neighbours do"
		sameFault   = "it is another form of a scenario that is played"
		several     = "a client of the box takes one lock at a time; the contract of an instance has locks of several keys on real servers"
		clientAlone = "it is about the client alone: a test of package simulation checks that the commands do the same on real servers"
	)
	return map[string]string{
		"S2b": "a connection delivers nothing twice; only a client that repeats a request does",
		"S5":  clientClock,
		"S15": suspended, "S15b": suspended,
		"S4g": sameFault, "S4h": sameFault, "S6": rates, "S6b": rates, "S6c": rates,
		"S7d": timing, "S7f": sameFault, "S8e": sameFault, "S8f": timing, "S8h": sameFault, "S9m": timing,
		"S10b": "the library's connection to real servers never sends a command twice",
		"S11a": extension, "S11b": extension, "S11c": extension, "S11d": timing, "S11e": extension, "S11f": extension,
		"S20": tokens, "S21": tokens,
		"S12":  "on real servers it is chance which client gets which vote first",
		"S14c": sameFault, "S17b": sameFault,
		"S28": address, "S29": address, "S29c": address,
		"S30":  handles,
		"S31":  "two masters behind one address need a proxy of their own for each client",
		"S31b": "two masters behind one address need a proxy of their own for each client",
		"S32":  clientAlone, "S33": sameFault, "S33b": clientAlone,
		"S34": several, "S35": several, "S35b": several, "S35c": several,

		"X5": "a client of the box does one thing at a time",
	}
}
