package designs

// Forget takes back what was registered.
func Forget() { registered.designs = nil }
