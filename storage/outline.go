package storage

// Outliner is a Reader of a format whose files may have to be read whole to tell how many messages each topic has.
type Outliner interface {
	// Outline is Info with what the file tells at once. The MessageCount of topics may be 0, and that of the file counts
	// messages which were deleted from its middle, if Info was not asked before.
	Outline() Info
}

// Outline describes a file without reading it whole, as far as its format can.
func Outline(r Reader) Info {
	if outliner, ok := r.(Outliner); ok {
		return outliner.Outline()
	}
	return r.Info()
}
