// Package controllers is the KWOK package that simulates pods. build.sh adds this file to it.
package controllers

import (
	"bytes"
	"fmt"
)

// patchByUID changes a merge patch so that it fails for a new pod of the same name.
func patchByUID(patch []byte, uid string) []byte {
	if fields, isMerge := bytes.CutPrefix(patch, []byte(`{"`)); isMerge {
		return fmt.Appendf(nil, `{"metadata":{"uid":%q},"%s`, uid, fields)
	}
	return patch
}
