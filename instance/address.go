package instance

import (
	"cmp"
	"net"
	"strconv"
	"strings"
)

// noHost are characters that no host's name has.
const noHost = " \t@%,;"

// isHost reports whether a text can be a host's name or address.
func isHost(host string) bool {
	plain := withoutZone(host)
	return host != "" && isName(host) && !strings.ContainsAny(plain, noHost+"/") && !hasColon(plain)
}

// withoutZone is a host without the zone that an IPv6 address may have, as in fe80::1%eth0.
func withoutZone(host string) string {
	addr, zone, found := strings.Cut(host, "%")
	if !found || zone == "" || strings.ContainsAny(zone, noHost+"/:") || !strings.Contains(addr, ":") || net.ParseIP(addr) == nil {
		return host
	}
	return addr
}

// hasColon reports whether a host has a colon and is no IPv6 address.
func hasColon(host string) bool {
	// What follows the colon may be a password, which must not be printed.
	return strings.Contains(host, ":") && net.ParseIP(host) == nil
}

func isPort(port string) bool {
	n, err := strconv.ParseUint(port, 10, 16)
	return err == nil && n > 0
}

// normal returns an address in its one normal spelling, so that equal ones are recognized.
func normal(host, port string) string {
	plain := withoutZone(host)
	zone := host[len(plain):] // the interface's name, in which case matters
	host = strings.TrimSuffix(strings.ToLower(plain), ".")
	if ip := net.ParseIP(host); ip != nil {
		host = ip.String() + zone
	}
	if n, err := strconv.Atoi(port); err == nil {
		port = strconv.Itoa(n)
	}
	return net.JoinHostPort(cmp.Or(host, "localhost"), cmp.Or(port, "6379"))
}
