package main

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"sigs.k8s.io/yaml"
)

// These lines of the README delimit the table.
const (
	tableBegin = "<!-- The table is made from values.yaml by make generate. -->\n"
	tableEnd   = "<!-- End of the table. -->\n"
)

// keyLine matches a key of a mapping in block style: indentation, key and value, which is empty if another mapping or a list follows.
var keyLine = regexp.MustCompile(`^( *)([A-Za-z]\w*): *([^#\n]*)`)

// value is a row of the table.
type value struct{ path, fallback, meaning string }

// withTable returns the README with the table of these values.
func withTable(readme string, values []byte) (string, error) {
	before, rest, found := strings.Cut(readme, tableBegin)
	_, after, foundEnd := strings.Cut(rest, tableEnd)
	if !found || !foundEnd {
		return "", fmt.Errorf("%s has no table between %q and %q", readmeFile, tableBegin, tableEnd)
	}
	rows, err := readValues(values)
	if err != nil {
		return "", fmt.Errorf("%s: %w", valuesFile, err)
	}
	table := "| value | default | meaning |\n|---|---|---|\n"
	for _, row := range rows {
		table += fmt.Sprintf("| `%s` | `%s` | %s |\n", row.path, row.fallback, strings.ReplaceAll(row.meaning, "|", `\|`))
	}
	return before + tableBegin + table + tableEnd + after, nil
}

// readValues reads the values that have a comment above them. A comment above a mapping covers all of it; without one, each key needs its own. A
// value without a comment is an error.
func readValues(data []byte) ([]value, error) {
	var tree map[string]any
	if err := yaml.Unmarshal(data, &tree); err != nil {
		return nil, err
	}
	var rows []value
	var path []string
	comment, whole := "", -1 // whole is the depth of a mapping that has its own row, or -1
	for line := range strings.Lines(string(data)) {
		if text, ok := strings.CutPrefix(strings.TrimSpace(line), "# "); ok {
			comment = strings.TrimSpace(comment + " " + text)
			continue
		}
		about := comment
		comment = "" // a blank line ends a comment about the file
		key := keyLine.FindStringSubmatch(line)
		if key == nil {
			continue
		}
		depth := len(key[1]) / 2
		if whole >= 0 && depth > whole {
			continue
		}
		whole = -1
		path = append(path[:depth], key[2])
		isMapping := key[3] == ""
		switch {
		case about == "" && !isMapping:
			return nil, fmt.Errorf("%s has no comment", strings.Join(path, "."))
		case about == "":
			continue
		case isMapping:
			whole = depth
		}
		fallback, err := json.Marshal(at(tree, path))
		if err != nil {
			return nil, err
		}
		rows = append(rows, value{strings.Join(path, "."), string(fallback), about})
	}
	return rows, nil
}

func at(tree map[string]any, path []string) any {
	var found any = tree
	for _, key := range path {
		mapping, ok := found.(map[string]any)
		if !ok {
			return nil
		}
		found = mapping[key]
	}
	return found
}
