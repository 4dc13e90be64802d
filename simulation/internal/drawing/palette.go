package drawing

import (
	"fmt"
	"strings"
)

// Color is one role in both themes, as "#rrggbb".
type Color struct {
	Name        string // of the CSS variable, without the dashes
	Light, Dark string
}

// The roles. Text is Ink or Soft on Paper, Card or a tint. Lines and borders have the strong
// colours.
var (
	Paper = Color{"paper", "#ffffff", "#14171c"}
	card  = Color{"card", "#f5f6f8", "#1d2128"}
	Ink   = Color{"ink", "#17191d", "#eceef2"}
	Soft  = Color{"soft", "#4e5560", "#b3bac6"}
	Faint = Color{"faint", "#d9dde3", "#363c47"} // grid lines: no meaning of their own
	link  = Color{"link", "#0b57b0", "#8ebcff"}

	Alarm     = Color{"alarm", "#b3001e", "#ff8a95"}
	alarmTint = Color{"alarm-tint", "#ffdfe2", "#52161e"}
	Fault     = Color{"fault", "#7a5200", "#f0c14b"}
	FaultTint = Color{"fault-tint", "#ffedbf", "#453510"}
	Good      = Color{"good", "#17692a", "#79d68d"}
	goodTint  = Color{"good-tint", "#d9f2de", "#15391f"}
)

// Series are the colours, and their tints, that distinguish processes. After the
// last they repeat.
var Series = []struct{ Line, Tint Color }{
	{Color{"s1", "#0b57b0", "#83b5ff"}, Color{"s1-tint", "#d5e6fd", "#173356"}},
	{Color{"s2", "#a14300", "#ffaa70"}, Color{"s2-tint", "#ffe3cd", "#4d2a12"}},
	{Color{"s3", "#0a6a5c", "#5fd3c0"}, Color{"s3-tint", "#cff0ea", "#0d3b34"}},
	{Color{"s4", "#6a2fb0", "#cda5ff"}, Color{"s4-tint", "#eadcfb", "#3a2359"}},
	{Color{"s5", "#8c1a66", "#ff9ad5"}, Color{"s5-tint", "#fbdcef", "#4d1c3c"}},
	{Color{"s6", "#4d5a00", "#cfdc6a"}, Color{"s6-tint", "#ecf1c4", "#343a10"}},
}

// colors returns every colour.
func colors() []Color {
	all := []Color{Paper, card, Ink, Soft, Faint, link, Alarm, alarmTint, Fault, FaultTint, Good, goodTint}
	for _, s := range Series {
		all = append(all, s.Line, s.Tint)
	}
	return all
}

// Var returns the colour in CSS.
func (c Color) Var() string { return "var(--" + c.Name + ")" }

// CSS declares all colours on a selector, such as ":root", light or dark as the reader's
// system asks. On paper they are always light.
func CSS(selector string) string {
	declare := func(pick func(Color) string) string {
		var b strings.Builder
		for _, c := range colors() {
			fmt.Fprintf(&b, "--%s:%s;", c.Name, pick(c))
		}
		return b.String()
	}
	return fmt.Sprintf("%s{color-scheme:light dark;%s}\n@media screen and (prefers-color-scheme:dark){%s{%s}}\n", selector,
		declare(func(c Color) string { return c.Light }), selector, declare(func(c Color) string { return c.Dark }))
}
