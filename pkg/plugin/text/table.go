package text

import (
	"slices"
	"strings"
)

// gap separates two columns.
const gap = "   "

// Cell is one cell of a table.
type Cell struct {
	Text   string
	Colour Colour
}

// Plainly returns a cell without a colour.
func Plainly(text string) Cell { return Cell{Text: text} }

// Column is a column of a table. If the table does not fit, the column with the highest Drop is omitted first. A column with Drop 0 is never
// omitted.
type Column struct {
	Title string
	Drop  int
}

// Table is a table with a title for each column. A row may have fewer cells than there are columns.
type Table struct {
	Columns []Column
	Rows    [][]Cell
}

// Add adds a row.
func (t *Table) Add(cells ...Cell) { t.Rows = append(t.Rows, cells) }

// Lines formats the table. To fit the width, it first omits columns and then cuts lines.
func (t *Table) Lines(style Style) []string {
	shown := make([]int, 0, len(t.Columns))
	for i := range t.Columns {
		shown = append(shown, i)
	}
	widths := t.widths()
	for style.Width > 0 && total(widths, shown) > style.Width {
		next := -1
		for _, i := range shown {
			if drop := t.Columns[i].Drop; drop > 0 && (next < 0 || drop > t.Columns[next].Drop) {
				next = i
			}
		}
		if next < 0 {
			break
		}
		shown = slices.DeleteFunc(shown, func(i int) bool { return i == next })
	}
	titles := make([]Cell, 0, len(t.Columns))
	for _, column := range t.Columns {
		titles = append(titles, Cell{Text: column.Title, Colour: Bold})
	}
	lines := []string{layOut(titles, shown, widths, style)}
	for _, row := range t.Rows {
		lines = append(lines, layOut(row, shown, widths, style))
	}
	return lines
}

// String returns the table as one string.
func (t *Table) String(style Style) string { return Join(t.Lines(style)) }

// Join joins lines and ends each one with a newline.
func Join(lines []string) string {
	if len(lines) == 0 {
		return ""
	}
	return strings.Join(lines, "\n") + "\n"
}

func (t *Table) widths() []int {
	widths := make([]int, len(t.Columns))
	for i, column := range t.Columns {
		widths[i] = len([]rune(column.Title))
	}
	for _, row := range t.Rows {
		for i, cell := range row {
			widths[i] = max(widths[i], len([]rune(cell.Text)))
		}
	}
	return widths
}

func total(widths, shown []int) int {
	sum := 0
	for i, column := range shown {
		if i > 0 {
			sum += len(gap)
		}
		sum += widths[column]
	}
	return sum
}

// layOut formats one line. The last cell is not padded, and text that does not fit is cut.
func layOut(row []Cell, shown, widths []int, style Style) string {
	var line strings.Builder
	left := style.Width
	last := -1
	for position, column := range shown {
		if column < len(row) && row[column].Text != "" {
			last = position
		}
	}
	for position, column := range shown[:last+1] {
		var cell Cell
		if column < len(row) {
			cell = row[column]
		}
		text, padding := Clean(cell.Text), ""
		if position < last {
			padding = strings.Repeat(" ", widths[column]-len([]rune(text))) + gap
		}
		if style.Width > 0 {
			text = Cut(text, left)
			left -= len([]rune(text))
			padding = padding[:min(len(padding), max(0, left))]
			left -= len(padding)
		}
		line.WriteString(style.Paint(cell.Colour, text))
		line.WriteString(padding)
	}
	return strings.TrimRight(line.String(), " ")
}
