package designs

// Forget removes the registered designs.
func Forget() { registered = nil }
