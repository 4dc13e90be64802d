package machine

// Raced says that the race detector is on.
const Raced = raced
