package node

import "reflect"

// copyFields copies the fields that both structs have, by name, into what to points at. Distros differ in fields
// (rosbag2 added node_name, start_time, return codes): what one side lacks keeps its zero value.
func copyFields(to, from any) {
	copyStruct(reflect.Indirect(reflect.ValueOf(to)), reflect.Indirect(reflect.ValueOf(from)))
}

func copyStruct(to, from reflect.Value) {
	for i := range to.NumField() {
		source := from.FieldByName(to.Type().Field(i).Name)
		if !source.IsValid() {
			continue
		}
		target := to.Field(i)
		switch {
		case target.Kind() == reflect.Struct && source.Kind() == reflect.Struct:
			copyStruct(target, source)
		case source.Kind() == target.Kind() && source.Type().ConvertibleTo(target.Type()):
			target.Set(source.Convert(target.Type()))
		}
	}
}
